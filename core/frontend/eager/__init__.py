"""Eager execution: arrays, variables and tapes outside of a trace; and calls that tapes record."""
