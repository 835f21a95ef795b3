"""The rows of StableHLO's operations, a file a family. Importing this package registers them."""

from . import control_flow, elementwise, indexing, products, reductions, shapes, sorting  # noqa: F401
