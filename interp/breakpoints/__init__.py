"""Breakpoints and logpoints: a small safe expression language over events, and what stops a run or logs a line."""
