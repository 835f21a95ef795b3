"""Tracing: a Python function runs on symbolic values, and becomes a program."""
