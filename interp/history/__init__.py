"""Time travel: histories that go back and forth over a run, jump, and branch."""
