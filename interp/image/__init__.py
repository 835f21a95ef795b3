"""The image of a graph: flat arrays of numbers that every token engine runs, and the table of opcodes."""
