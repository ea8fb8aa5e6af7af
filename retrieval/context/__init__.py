"""What surrounds an alert: when it began, who took part, what was rolled out, what crashed. Pure but for the suspects,
which are read from git."""
