"""The user interface: the command line and the debugger. `session` is the debugger without a screen, and `cli` owns
words and exit codes; all computing and drawing is below."""
