"""Export of programs to other systems: one walk over a program, and a writer for each target."""
