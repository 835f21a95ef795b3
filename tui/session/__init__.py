"""The debugger without a screen: commands in, plain data out. Nothing here prints, and nothing depends on a widget."""
