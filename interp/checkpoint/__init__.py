"""Checkpoints: the values of variables in files, matched on restore by the named edges that lead to the variables."""
