"""Checkpoints: files with the values of variables, which are restored by the names of the edges that lead to the
variables."""
