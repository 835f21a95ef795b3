"""Breakpoints and logpoints, which stop a run or log a line, and the language of their conditions: safe expressions
over events."""
