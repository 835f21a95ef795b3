"""Time travel: a history of a run can step back and forth, jump, and fork."""
