"""Reads git repositories: history, files, who owns them, which symbols a commit touched."""
