"""What may explain it, best first: documents by three legs and one score; services, commits, files and functions by
what the evidence says of them. Pure but for the legs."""
