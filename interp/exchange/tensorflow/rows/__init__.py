"""The rows of TensorFlow's ops, a file a family. Importing this package registers them."""

from . import control_flow, elementwise, indexing, networks, reductions, shapes, state  # noqa: F401
