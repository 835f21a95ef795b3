"""Runs of `fast` on several cores, which pass activations to each other."""
