"""Images of graphs, which are flat arrays of numbers that token engines run, and the table of opcodes."""
