"""Eager execution: concrete arrays, variables and tapes; and calls and gradients in a trace, which tapes record."""
