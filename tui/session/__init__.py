"""The debugger without a screen: it executes command lines and returns plain data. Nothing here prints or depends on
the app."""
