"""The debugger without a screen: commands in, plain data out. Nothing here prints, and no widget holds any of it."""
