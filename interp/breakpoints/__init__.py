"""Breakpoints: a small safe language of expressions over events, and what stops or says something where one holds."""
