"""Hands on: the command line. Words and exit codes; whatever is computed or drawn is computed and drawn below."""
