"""Turns files that others wrote into records: readers per format, redaction at the door, templates of log lines."""
