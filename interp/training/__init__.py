"""Learning: optimizers, embeddings and sampled losses, as small programs over variables.

What they compute with are ops as everybody calls them, so that each works eagerly and in a trace, on every engine.
"""
