"""The rows of PyTorch's operators, a file a family. Importing this package registers them."""

from . import (  # noqa: F401
    control_flow,
    creation,
    elementwise,
    indexing,
    losses,
    networks,
    numbers,
    pooling,
    products,
    recurrent,
    reductions,
    shapes,
)
