"""Which alerts are one incident; its durable state, jobs and messages; and the loop that works them off."""
