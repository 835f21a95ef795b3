"""What a program does: the machines, and how their runs are measured and compared."""
