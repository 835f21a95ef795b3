"""tagloom: tagged-token dataflow, to run, to see and to step through.

import tagloom as tl

@tl.function
def fib(n: tl.int64) -> tl.int64:
    return tl.cond(n <= 1, lambda: 1, lambda: fib(n - 1) + fib(n - 2))

fib(10)                              # 89
fib.run(10, schedule="random:7").firings
"""

from .core import display as _display
from .core.dtypes import bool, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64
from .core.errors import (
    Broken,
    Crash,
    Deadlock,
    Disagreement,
    Exhausted,
    Invalid,
    Malformed,
    TagloomError,
    Trap,
    Usage,
)
from .core.frontend.acts import (
    breakpoint,
    callback,
    cells,
    collect,
    get,
    integers,
    normal,
    permutation,
    print,
    put,
    uniform,
)
from .core.frontend.api import cond, while_loop
from .core.frontend.functions import (
    abs,
    add,
    astype,
    cos,
    divide,
    equal,
    exp,
    floor_divide,
    greater,
    greater_equal,
    identity,
    less,
    less_equal,
    log,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    matmul,
    maximum,
    minimum,
    multiply,
    negative,
    not_equal,
    pow,
    remainder,
    sin,
    sqrt,
    subtract,
    sum,
    tanh,
    where,
)
from .core.graph import Builder, Graph
from .core.lower import lower
from .core.program import Program
from .core.text import Document, parse, parse_graph, parse_program, print_document, print_graph, print_program
from .core.types import Array, Cells, Type
from .core.world import World
from .interp.breakpoints.breakpoint import Breakpoints, breakpoint_on
from .interp.documents import from_json, read_json, to_json, write_json
from .interp.function import Function, function
from .interp.outcome import Outcome
from .interp.record import OutcomeRecord
from .interp.reference import Limits, run_graph
from .interp.replay import EventLog, read_events
from .interp.script import Script, read_script, write_script
from .interp.travel.history import History
from .tui.begin import load_run
from .viz.notebook import display as _shown_in_notebooks
from .viz.notebook import picture

__version__ = "0.1.0"
_display.slot.draw = _shown_in_notebooks

__all__ = [
    "Array",
    "Breakpoints",
    "Broken",
    "Builder",
    "Cells",
    "Crash",
    "Deadlock",
    "Disagreement",
    "Document",
    "EventLog",
    "Exhausted",
    "Function",
    "Graph",
    "History",
    "Invalid",
    "Limits",
    "Malformed",
    "Outcome",
    "OutcomeRecord",
    "Program",
    "Script",
    "TagloomError",
    "Trap",
    "Type",
    "Usage",
    "World",
    "abs",
    "add",
    "astype",
    "bool",
    "breakpoint",
    "breakpoint_on",
    "callback",
    "cells",
    "collect",
    "cond",
    "cos",
    "divide",
    "equal",
    "exp",
    "float32",
    "float64",
    "floor_divide",
    "from_json",
    "function",
    "get",
    "greater",
    "greater_equal",
    "identity",
    "int8",
    "int16",
    "int32",
    "int64",
    "integers",
    "less",
    "less_equal",
    "load_run",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lower",
    "matmul",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "normal",
    "not_equal",
    "parse",
    "parse_graph",
    "parse_program",
    "permutation",
    "picture",
    "pow",
    "print",
    "print_document",
    "print_graph",
    "print_program",
    "put",
    "read_events",
    "read_json",
    "read_script",
    "remainder",
    "run_graph",
    "sin",
    "sqrt",
    "subtract",
    "sum",
    "tanh",
    "to_json",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uniform",
    "where",
    "while_loop",
    "write_json",
    "write_script",
]
