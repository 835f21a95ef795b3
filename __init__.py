"""tagloom: tagged-token dataflow, to run, to see and to step through.

import tagloom as tl

@tl.function
def fib(n: tl.int64) -> tl.int64:
    return 1 if n <= 1 else fib(n - 1) + fib(n - 2)

fib(10)                              # 89
fib.run(10, schedule="random:7").firings  # 1591, under every schedule
fib.debug(5)                         # step through it, forwards and backwards
"""

from importlib import import_module as _import_module
from math import e, inf, nan, pi
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from . import command_process as _command_process  # noqa: F401 - first: Ctrl-C ends the imports below
from . import deprecation as _deprecation
from .core import display as _display
from .core.autodiff.rows import Rows
from .core.dtypes import (
    bfloat16,
    bool,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .core.errors import Broken, Crash, Deadlock, Disagreement, Exhausted, Invalid, Malformed, TagloomError, Trap, Usage
from .core.frontend import functions as _functions
from .core.frontend.array_api import linalg
from .core.frontend.array_api.convolution import conv, conv_transpose, max_pool, mean_pool, windows
from .core.frontend.array_api.creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from .core.frontend.array_api.datatypes import (
    __array_namespace_info__,
    astype,
    can_cast,
    finfo,
    iinfo,
    isdtype,
    result_type,
)
from .core.frontend.array_api.einsum import einsum
from .core.frontend.array_api.indexing import (
    boolean_mask,
    broadcast_like,
    gather,
    index,
    reshape_like,
    scatter,
    scatter_add,
    scatter_index,
    scatter_max,
    scatter_min,
    scatter_mul,
    shape,
    size,
    sum_like,
    take,
    take_along_axis,
)
from .core.frontend.array_api.linalg import matmul, tensordot, vecdot
from .core.frontend.array_api.manipulation import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    matrix_transpose,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    tile,
    unstack,
)
from .core.frontend.array_api.neural_network import (
    clip_by_global_norm,
    clip_by_norm,
    dot_product_attention,
    dropout,
    gelu,
    layer_norm,
    log_softmax,
    one_hot,
    relu,
    segment_sum,
    sigmoid,
    silu,
    softmax,
    softplus,
)
from .core.frontend.array_api.numeric import (
    all,
    any,
    argmax,
    argmin,
    argsort,
    clip,
    count_nonzero,
    cumlogsumexp,
    cummax,
    cummin,
    cumulative_prod,
    cumulative_sum,
    diff,
    inverse_indices,
    isin,
    logsumexp,
    max,
    mean,
    min,
    nonzero,
    positive,
    prod,
    reciprocal,
    searchsorted,
    sort,
    square,
    std,
    sum,
    topk,
    unique_all,
    unique_counts,
    unique_indices,
    unique_inverse,
    unique_values,
    value_counts,
    var,
)
from .core.frontend.array_api.padding import pad
from .core.frontend.autograph import loop_options
from .core.frontend.called_function import find_called_function as _find_called_function
from .core.frontend.control_flow import cond, switch, while_loop
from .core.frontend.distributions import (
    bernoulli,
    categorical,
    exponential,
    gamma,
    gumbel,
    laplace,
    poisson,
    truncated_normal,
)
from .core.frontend.eager.custom_gradient import custom_gradient
from .core.frontend.eager.tape import Tape
from .core.frontend.eager.variable import Variable, init_scope
from .core.frontend.effects import (
    Generator,
    assert_,
    breakpoint,
    callback,
    cells,
    collect,
    get,
    integers,
    integers_at,
    normal,
    normal_at,
    permutation,
    permutation_at,
    print,
    put,
    set_seed,
    uniform,
    uniform_at,
)
from .core.frontend.functions import *  # noqa: F403
from .core.frontend.loops import foldl, foldr, fori_loop, map, scan
from .core.frontend.scope import device, scope
from .core.frontend.trace.pytree import Static
from .core.graph.graph import Graph, GraphBuilder
from .core.graph.lower import lower
from .core.program.program import Program
from .core.types import Array, Cells, Type
from .core.world import World
from .interp.engines.limits import Limits
from .interp.engines.reference import run_graph
from .interp.exchange import autograph
from .interp.exchange.onnx import from_onnx
from .interp.exchange.stablehlo import from_jax, from_stablehlo, trace_all
from .interp.exchange.tensorflow import executor_graph, from_tensorflow
from .interp.exchange.torch import from_torch
from .interp.function.function import Function, function, vmap
from .interp.function.gradient import grad, hessian, jacobian, jvp, value_and_grad, vjp
from .interp.machine.schedule import Script, read_script, write_script
from .interp.outcome.outcome import Outcome
from .interp.speculation import testing
from .interp.speculation.speculate import speculate

if _TYPE_CHECKING:  # the names that `_LAZY_IMPORTS` imports
    from .core.text import Document, parse, parse_graph, parse_program, print_document, print_graph, print_program
    from .interp.breakpoints.breakpoint import Breakpoints, breakpoint_on
    from .interp.checkpoint.checkpoint import Checkpoint, CheckpointManager
    from .interp.history.history import History
    from .interp.history.replay import EventLog, read_events
    from .interp.queues.queue import FIFOQueue, QueueClosed, QueueTimeout, ShuffleQueue, feeding
    from .interp.records.documents import OutcomeRecord, from_json, read_json, to_json, write_json
    from .interp.training import optimizers
    from .interp.training.embedding import Candidates, Embedding, log_uniform_candidates, sampled_softmax
    from .interp.training.metrics import read_metrics
    from .interp.training.parameter_servers.messages import TrainingReport
    from .interp.training.parameter_servers.train import train
    from .tui.cli.progress import progress
    from .tui.run_start import load_run
    from .viz.curves import curve
    from .viz.notebook import picture, widget

__version__ = "0.1.0"
__array_api_version__ = "2024.12"
newaxis = None


_LAZY_IMPORTS = {
    "core.text": "Document parse parse_graph parse_program print_document print_graph print_program",
    "interp.breakpoints.breakpoint": "Breakpoints breakpoint_on",
    "interp.checkpoint.checkpoint": "Checkpoint CheckpointManager",
    "interp.history.history": "History",
    "interp.history.replay": "EventLog read_events",
    "interp.queues.queue": "FIFOQueue QueueClosed QueueTimeout ShuffleQueue feeding",
    "interp.records.documents": "OutcomeRecord from_json read_json to_json write_json",
    "interp.training": "optimizers",
    "interp.training.embedding": "Candidates Embedding log_uniform_candidates sampled_softmax",
    "interp.training.metrics": "read_metrics",
    "interp.training.parameter_servers.messages": "TrainingReport",
    "interp.training.parameter_servers.train": "train",
    "tui.cli.progress": "progress",
    "tui.run_start": "load_run",
    "viz.curves": "curve",
    "viz.notebook": "picture widget",
}
"""The modules that most programs do not need, and the names of this package that they define: `import tagloom` imports
neither, which makes it twice as fast."""
_MODULES = {name: module for module, names in _LAZY_IMPORTS.items() for name in names.split()}

if not _TYPE_CHECKING:

    def __getattr__(name: str) -> _Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = _import_module(f".{_MODULES[name]}", __name__)
        value = globals()[name] = getattr(module, name)
        return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


def _hook(module: str, name: str) -> _Any:
    """A function of a module that is imported when the function is called."""
    return lambda *arguments, **options: getattr(_import_module(module, __name__), name)(*arguments, **options)


_display.hooks.render_svg = _hook(".viz.notebook", "display")
_display.hooks.open_player = _hook(".viz.notebook", "play")
_display.hooks.open_debugger = _hook(".tui.cli.debug_here", "debug_run")
TagloomError.find_called_function = staticmethod(_find_called_function)
_deprecation.install()

__all__ = [
    "Array",
    "Breakpoints",
    "Broken",
    "Candidates",
    "Cells",
    "Checkpoint",
    "CheckpointManager",
    "Crash",
    "Deadlock",
    "Disagreement",
    "Document",
    "Embedding",
    "EventLog",
    "Exhausted",
    "FIFOQueue",
    "Function",
    "Generator",
    "Graph",
    "GraphBuilder",
    "History",
    "Invalid",
    "Limits",
    "Malformed",
    "Outcome",
    "OutcomeRecord",
    "Program",
    "QueueClosed",
    "QueueTimeout",
    "Rows",
    "Script",
    "ShuffleQueue",
    "Static",
    "TagloomError",
    "Tape",
    "TrainingReport",
    "Trap",
    "Type",
    "Usage",
    "Variable",
    "World",
    "__array_namespace_info__",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asarray",
    "assert_",
    "astype",
    "bernoulli",
    "bfloat16",
    "bool",
    "boolean_mask",
    "breakpoint",
    "breakpoint_on",
    "broadcast_arrays",
    "broadcast_like",
    "broadcast_shapes",
    "broadcast_to",
    "callback",
    "can_cast",
    "categorical",
    "cells",
    "clip",
    "clip_by_global_norm",
    "clip_by_norm",
    "collect",
    "concat",
    "cond",
    "conv",
    "conv_transpose",
    "count_nonzero",
    "cumlogsumexp",
    "cummax",
    "cummin",
    "cumulative_prod",
    "cumulative_sum",
    "curve",
    "custom_gradient",
    "device",
    "diff",
    "dot_product_attention",
    "dropout",
    "e",
    "einsum",
    "empty",
    "empty_like",
    "executor_graph",
    "expand_dims",
    "exponential",
    "eye",
    "feeding",
    "finfo",
    "flip",
    "float16",
    "float32",
    "float64",
    "foldl",
    "foldr",
    "fori_loop",
    "from_dlpack",
    "from_jax",
    "from_json",
    "from_onnx",
    "from_stablehlo",
    "from_tensorflow",
    "from_torch",
    "full",
    "full_like",
    "function",
    "gamma",
    "gather",
    "gelu",
    "get",
    "grad",
    "gumbel",
    "hessian",
    "iinfo",
    "index",
    "inf",
    "init_scope",
    "int8",
    "int16",
    "int32",
    "int64",
    "integers",
    "integers_at",
    "inverse_indices",
    "isdtype",
    "isin",
    "jacobian",
    "jvp",
    "laplace",
    "layer_norm",
    "linalg",
    "linspace",
    "load_run",
    "log_softmax",
    "log_uniform_candidates",
    "logsumexp",
    "loop_options",
    "lower",
    "map",
    "matmul",
    "matrix_transpose",
    "max",
    "max_pool",
    "mean",
    "mean_pool",
    "meshgrid",
    "min",
    "moveaxis",
    "nan",
    "newaxis",
    "nonzero",
    "normal",
    "normal_at",
    "one_hot",
    "ones",
    "ones_like",
    "optimizers",
    "pad",
    "parse",
    "parse_graph",
    "parse_program",
    "permutation",
    "permutation_at",
    "permute_dims",
    "pi",
    "picture",
    "poisson",
    "positive",
    "print",
    "print_document",
    "print_graph",
    "print_program",
    "prod",
    "progress",
    "put",
    "read_events",
    "read_json",
    "read_metrics",
    "read_script",
    "reciprocal",
    "relu",
    "repeat",
    "reshape",
    "reshape_like",
    "result_type",
    "roll",
    "run_graph",
    "sampled_softmax",
    "scan",
    "scatter",
    "scatter_add",
    "scatter_index",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scope",
    "searchsorted",
    "segment_sum",
    "set_seed",
    "shape",
    "sigmoid",
    "silu",
    "size",
    "softmax",
    "softplus",
    "sort",
    "square",
    "squeeze",
    "stack",
    "std",
    "sum",
    "sum_like",
    "switch",
    "take",
    "take_along_axis",
    "tensordot",
    "tile",
    "to_json",
    "topk",
    "trace_all",
    "train",
    "tril",
    "triu",
    "truncated_normal",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uniform",
    "uniform_at",
    "unique_all",
    "unique_counts",
    "unique_indices",
    "unique_inverse",
    "unique_values",
    "unstack",
    "value_and_grad",
    "value_counts",
    "var",
    "vecdot",
    "vjp",
    "vmap",
    "while_loop",
    "widget",
    "windows",
    "write_json",
    "write_script",
    "zeros",
    "zeros_like",
]  # fmt: skip
__all__ += _functions.__all__
__all__ += ["autograph", "speculate", "testing"]
