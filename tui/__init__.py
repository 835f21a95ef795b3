"""Hands on: the command line, and the debugger. `session` is the whole debugger without a screen, and `cli` the
words and exit codes; whatever is computed or drawn is computed and drawn below."""
