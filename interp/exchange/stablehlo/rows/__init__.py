"""The rows of StableHLO's operations, a file a family. Importing this package registers them."""

from . import (  # noqa: F401
    control_flow,
    elementwise,
    indexing,
    linear_algebra,
    products,
    random_bits,
    reductions,
    shapes,
    sorting,
)
