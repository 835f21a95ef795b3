"""Time travel: histories that step back and forth over a run, jump, and fork."""
