"""Ordinary Python: functions whose `if`, `while` and `for` may have symbolic conditions."""
