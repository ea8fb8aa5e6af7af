"""Who may send, and what was sent? Webhooks in; a durable delivery out."""
