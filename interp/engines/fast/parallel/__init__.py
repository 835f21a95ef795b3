"""A run of `fast` on several cores, which give activations to each other."""
