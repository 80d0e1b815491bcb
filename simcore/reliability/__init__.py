"""How often: failures, checkpoints, and how much of the time a job makes progress."""
