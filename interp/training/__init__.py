"""Training: optimizers, embeddings and sampled losses, as small programs over variables.

They use public ops only, so that each works eagerly and while tracing, on every engine.
"""
