"""The demo: what the bot talks to when there is nothing outside to talk to."""
