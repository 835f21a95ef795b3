"""Training: optimizers, embeddings, sampled losses, and files of metrics.

All but the metrics use public ops only, so that they work eagerly and while tracing, on every engine.
"""

from . import optimizers as optimizers
