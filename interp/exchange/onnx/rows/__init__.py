"""The rows of ONNX's operators, a file a family. Importing this package registers them."""

from . import (  # noqa: F401
    control_flow,
    elementwise,
    features,
    images,
    networks,
    quantization,
    random_draws,
    recurrent,
    reductions,
    shapes,
    signals,
    training,
)
