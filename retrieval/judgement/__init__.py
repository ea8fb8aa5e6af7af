"""What the evidence says, decided in code: rules make competing hypotheses, the guard drops what cites nothing, the
ladder names the rung, and a confidence goes with it. A language model may add sentences; it decides nothing here."""
