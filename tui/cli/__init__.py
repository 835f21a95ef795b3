"""The command line: a module for each command, and `main`, which parses words and chooses the exit code."""
