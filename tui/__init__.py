"""The user interface: the debugger and the command line. `session` is the debugger without a screen, `panes` computes
what its screen shows, `app` is the screen, and `cli` the command line."""
