"""Ordinary Python: functions whose `if`, `while` and `for` may have symbolic conditions (docs/autograph-internals.md)."""
