"""Who asks, who is told, and who starts it all? May import everything; nothing imports it."""
