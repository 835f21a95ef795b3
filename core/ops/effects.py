"""Effect ops, which do more than compute a value from their operands: ops on cells, on the world outside, and random
draws, whose rows are in `random`.

The machine defines what these ops do (docs/semantics.md, S13 to S16), so their rows have no kernels, except those that
draw random numbers.

Cells are written once: I-structures (Arvind, Nikhil, Pingali, 1989), TensorFlow's TensorArray. A get from an empty cell
waits for the put: a deferred read. A second put to a cell is a trap of that cell.

Effects on one resource of the world outside happen in program order: each hands an order token to the next. In a graph
it is the trigger of an effect and its second output.
"""

from __future__ import annotations

import math
import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, cast
from weakref import WeakValueDictionary

import numpy as np

from .. import dtypes
from ..errors import Invalid, Trap, Usage, can_join, plural
from ..types import MAX_AXES, Handle, HandleType, Type, check_element_type, element_type, handle_type
from ..value import Value, format_value, normalize
from .op import MAX_ELEMENTS, OPS, Attributes, DynamicSizes, Op, TypeRule, check_dynamic_sizes, fill_dynamic_sizes
from .type_rules import format_attribute


@dataclass(frozen=True, slots=True)
class EffectOp:
    """A row of the table of effect ops.

    With `arity` None the op takes any number of operands. `resource` names the resource on which effects are ordered;
    an effect has the order token as its trigger and as its second output. `form` says whether the op is one of
    programs, of graphs or of both: a `put` of a program is a `store` in a graph. `draw` computes random values from a
    key, the operands and the attributes; `trap_reason` returns the message of the trap, or None where there are such
    values. `dynamic_sizes` is the attribute some of whose sizes may be operands, which the functions
    `draw_trap_message` and `draw_values` complete.
    """

    name: str
    arity: int | None
    type_rule: TypeRule
    doc: str
    attributes: tuple[str, ...] = ()
    resource: str | None = None
    output_count: int = 1
    form: Literal["both", "program", "graph"] = "both"
    draw: Callable[..., Value] | None = None
    trap_reason: Callable[..., str | None] | None = None
    dynamic_sizes: DynamicSizes | None = None

    def has_attributes(self, names: Sequence[str]) -> bool:
        """Whether a node of this op may have exactly these attributes, in this order."""
        return tuple(names) == self.attributes

    def __repr__(self) -> str:
        return f"<op {self.name}>"


_REGISTRY: dict[str, EffectOp] = {}
EFFECT_OPS: Mapping[str, EffectOp] = MappingProxyType(_REGISTRY)
"""Every op that does more than compute, by name, in the order of the families."""
OpRow: TypeAlias = Op | EffectOp
ALL_OPS: Mapping[str, OpRow] = ChainMap(_REGISTRY, OPS)  # type: ignore[arg-type]  # a ChainMap that is only read
"""Every op that a node may have, except those that route tokens or have regions."""


def effect_op(name: str, **columns: Any) -> EffectOp:
    """Declare a row."""
    assert name not in ALL_OPS, f"{name} is declared twice"
    if dynamic := columns.get("dynamic_sizes"):
        columns["type_rule"] = check_dynamic_sizes(dynamic, columns["type_rule"])
    row = EffectOp(name=name, **columns)
    _REGISTRY[name] = row
    return row


def lookup_row(name: str) -> OpRow:
    """The row of an op; raises Usage where there is none."""
    if name not in ALL_OPS:
        raise Usage(f"no op is called {name!r}", hint=f"the ops are {', '.join(ALL_OPS)}", python=KeyError)
    return ALL_OPS[name]


def resource_of(op: str) -> str | None:
    """The resource that an effect is ordered on; None for other ops."""
    return EFFECT_OPS[op].resource if op in EFFECT_OPS else None


def draw_trap_message(row: EffectOp, operands: tuple[Value, ...], attributes: Attributes) -> str | None:
    """The trap message where these operands allow no draw, or None. Raises MemoryError for a size that no array has."""
    try:
        others, _ = fill_dynamic_sizes(row, operands, attributes)
    except Invalid as error:
        return error.message
    return row.trap_reason(*others) if row.trap_reason else None


def draw_values(row: EffectOp, key: int, operands: tuple[Value, ...], attributes: Attributes) -> Value:
    """The random numbers of a key; raises MemoryError, before anything is allocated, if they are too many."""
    assert row.draw is not None
    others, complete = fill_dynamic_sizes(row, operands, attributes)
    return row.draw(key, *others, **dict(complete))


def is_allowed_in(op: str, form: str) -> bool:
    """Whether an op is allowed in a program, or in a graph."""
    return op in OPS or (op in EFFECT_OPS and EFFECT_OPS[op].form in (form, "both"))


_INT64 = Type(dtypes.int64)


def cells_type(size: Type, element: Any) -> Type:
    if not isinstance(element, Type):
        raise Invalid(
            "this is not a type",
            required="the type of an element, as in element=float64[3]",
            got=format_attribute(element),
        )
    if size != _INT64:
        raise Invalid("the number of cells has the wrong type", required=_INT64, got=size, python=TypeError)
    try:
        return handle_type(check_element_type(element))
    except Usage as error:
        raise Invalid(error.message, required="the type of a number or an array", got=element) from None


def get_type(handle: Type, index: Type) -> Type:
    element = element_type(handle)
    if index != _INT64:
        raise Invalid("the index of a cell has the wrong type", required=_INT64, got=index, python=TypeError)
    return element


def put_type(handle: Type, index: Type, value: Type) -> Type:
    element = get_type(handle, index)
    if not element.admits(value):
        raise Invalid(
            "the value does not have the type of the cells",
            required=element,
            got=value,
            hint="convert with astype",
            python=TypeError,
        )
    return handle


def cell_zeros_type(handle: Type) -> Type:
    array = collect_type(handle)
    if array.shape is None or None in array.shape[1:]:
        hint = "give cells a type with known sizes, as in tl.cells(n, tl.Array[tl.float64, 3])"
        raise Invalid("the elements have unknown sizes", required="known sizes", got=handle, hint=hint)
    return array


def collect_type(handle: Type) -> Type:
    element = element_type(handle)
    if element.shape is not None and len(element.shape) >= MAX_AXES:
        raise Invalid("an array of these elements has too many axes", required=f"{MAX_AXES - 1} at most", got=element)
    return Type(element.dtype, None if element.shape is None else (None, *element.shape))


effect_op(
    "cells",
    arity=1,
    type_rule=cells_type,
    attributes=("element",),
    doc="`n` empty cells, each for one value of type `element`. Traps on a negative n.",
)
effect_op(
    "put",
    arity=3,
    type_rule=put_type,
    form="program",
    doc="Put a value into cell `i`; the result is the handle, at once. Traps outside of 0 to n - 1; a second put to a "
    "cell is a trap that names all its puts. In a graph it is a `store`, which has no output.",
)
effect_op(
    "store",
    arity=3,
    type_rule=put_type,
    output_count=0,
    form="graph",
    doc="The sink that a `put` of a program becomes: it puts a value into cell `i` and wakes the gets that wait.",
)
effect_op(
    "get",
    arity=2,
    type_rule=get_type,
    doc="The value of cell `i`; while the cell is empty the get is deferred. Traps outside of 0 to n - 1.",
)
effect_op(
    "cell_zeros",
    arity=1,
    type_rule=cell_zeros_type,
    doc="A zero of the type of an element for each cell: the adjoint of cells on which nothing depends.",
)
effect_op(
    "collect",
    arity=1,
    type_rule=collect_type,
    doc="All cells as one array, cell by cell along its first axis, as soon as each has its value. Traps if their "
    "shapes differ.",
)


def size_trap_message(size: int) -> str | None:
    """The reason for which there cannot be this number of cells; None if there can."""
    return "fewer than no cells" if size < 0 else None


_NO_CELL_MESSAGE = "there is no cell"


def index_trap_message(handle: Handle, index: int) -> str | None:
    """The reason for which there is no cell of this index; None if there is one."""
    return None if 0 <= index < handle.size else f"{_NO_CELL_MESSAGE} {index} among {handle.size}"


SECOND_PUT_MESSAGE = "is put more than once"
"""The message of the trap of a second put, without the cell."""


def second_put_trap_message(index: int) -> str:
    return f"cell {index} {SECOND_PUT_MESSAGE}"


PYTHON_ERRORS = (
    ArithmeticError, AssertionError, AttributeError, BufferError, EOFError, FloatingPointError, IndexError, KeyError,
    LookupError, NameError, NotImplementedError, OSError, OverflowError, RuntimeError, TypeError, UnboundLocalError,
    ValueError, ZeroDivisionError,
)  # fmt: skip
"""The built-in exceptions from which the traps of callbacks and assertions may also derive."""
_EXCEPTIONS: WeakValueDictionary[str, type[Exception]] = WeakValueDictionary()
"""The exceptions of users that programs of this process raise, by name. Only the name is part of a program."""


def exception_name(error: type[Exception]) -> str:
    """The name of an exception in a program, as in Python's tracebacks; from now on `lookup_exception` finds it, or the
    nearest base class from which a trap can derive.

    >>> exception_name(KeyError)
    'KeyError'
    """
    if error in PYTHON_ERRORS:
        return error.__name__
    name = f"{error.__module__}.{error.__qualname__}".removeprefix("builtins.")
    _EXCEPTIONS[name] = next(base for base in error.__mro__ if can_join(Trap, base))
    return name


def lookup_exception(name: str) -> type[Exception]:
    """The exception of this name: a built-in one, or one that this process has named; else ValueError."""
    built_in = next((error for error in PYTHON_ERRORS if error.__name__ == name), ValueError)
    return _EXCEPTIONS.get(name, built_in)


def trap_class(op: str, message: str) -> type[Exception]:
    """The exception from which a trap of this op with this message also derives: for a callback, the built-in class
    that its Python function raised; for an assertion, the class that it names."""
    row = OPS.get(op)
    if row is not None:
        condition = row.trap_condition
        if condition is not None and condition.error is None:
            return lookup_exception(message.partition(":")[0])
        return condition.error if condition is not None and condition.message == message else ValueError  # type: ignore[return-value]
    if op == "callback":
        exception_match = re.match(r"(?:the callback|callback \S+) raised (\w+)", message)
        return lookup_exception(exception_match[1] if exception_match else "")
    return IndexError if message.startswith(_NO_CELL_MESSAGE) else ValueError


def shapes_trap_message(values: Sequence[Value]) -> str | None:
    """Why the values of cells cannot be stacked to an array; None if they can. Shapes may differ where the type of an
    element leaves them unknown."""
    shapes = list(dict.fromkeys(np.asarray(value).shape for value in values))
    if len(shapes) > 1:
        return f"cells of shapes {shapes[0]} and {shapes[1]} make no array"
    return f"an array has at most {MAX_AXES} axes" if shapes and len(shapes[0]) >= MAX_AXES else None


def build_zeros(handle: Handle, element: Type) -> Value:
    """The result of `cell_zeros` for elements of known sizes; raises MemoryError as `stack_values` does."""
    shape = (handle.size, *cast("tuple[int, ...]", element.shape))
    if math.prod(filter(None, shape)) > MAX_ELEMENTS:
        raise MemoryError(f"an array of shape {shape}")
    return normalize(np.zeros(shape, element.dtype.numpy), Type(element.dtype, shape))


def stack_values(values: Sequence[Value], element: Type) -> Value:
    """Values of one shape as an array, along a new first axis. Raises MemoryError, before anything is allocated, if it
    would have more than MAX_ELEMENTS, sizes of 0 counting as 1."""
    inner = np.asarray(values[0]).shape if values else tuple(size or 0 for size in element.shape or ())
    if math.prod(filter(None, (len(values), *inner))) > MAX_ELEMENTS:
        raise MemoryError(f"an array of shape {(len(values), *inner)}")
    array = np.array(values, element.dtype.numpy).reshape((len(values), *inner))
    return normalize(array, Type(element.dtype, array.shape))


_BOOL = Type(dtypes.bool)
_PLACEHOLDERS = re.compile(r"\{\{|\}\}|\{(?::[^{}]*)?\}")
"""Braces in a text: an escaped brace, or a place for an operand."""


def format_text(text: str, operands: tuple[Any, ...]) -> str:
    """The text with operands in the places for them: as a literal in `{}`, and by a format of Python in `{:FORMAT}`,
    where `{:}` shows what Python's `print` shows; `{{` and `}}` are braces. Arrays are literals, but `{:s}` shows the
    string with the code points in an array, `{:r}` the list with its items, and `{:j, }` its items with ", " between
    them.

    >>> format_text("{} of {{{}}}", (1, 2.5)), format_text("{} is {:}, {:.2f}", (True, True, 0.5))
    ('1 of {2.5}', 'true is True, 0.50')
    >>> format_text("{:s}!", (np.array([104, 105]),))
    'hi!'
    >>> format_text("{:r}", (np.array([True, False]),))
    '[True, False]'
    >>> format_text("{:j, }", (np.array([1.5, 2.0]),))
    '1.5, 2.0'
    """
    pairs = zip(_find_placeholders(text), operands, strict=False)
    return fill_placeholders(text, [_format_operand(placeholder, operand) for placeholder, operand in pairs])


STRING_PLACEHOLDER = "{:s}"
"""The place for an array of code points, which is printed as a string."""
LIST_PLACEHOLDER = "{:r}"
"""The place for an array that is printed as a list of Python."""
JOIN_PLACEHOLDER = "{:j"
"""The beginning of a place for an array whose items are printed with the text that follows between them."""


def _format_operand(placeholder: str, operand: Any) -> str:
    if placeholder == STRING_PLACEHOLDER and np.ndim(operand) == 1:
        return "".join(map(chr, operand))
    if placeholder == LIST_PLACEHOLDER and np.ndim(operand):
        return repr(np.asarray(operand).tolist())
    if placeholder.startswith(JOIN_PLACEHOLDER) and np.ndim(operand) == 1:
        return placeholder[len(JOIN_PLACEHOLDER) : -1].join(map(str, np.asarray(operand).tolist()))
    if placeholder == "{}" or isinstance(operand, Handle) or np.ndim(operand):
        return format_value(operand)
    number = np.asarray(operand)[()]
    return format(bool(number) if number.dtype == bool else number, placeholder[2:-1])


def fill_placeholders(text: str, texts: Iterable[str]) -> str:
    """The text with these strings in the places of operands; surplus placeholders are kept."""
    remaining_texts = iter(texts)
    return _PLACEHOLDERS.sub(
        lambda match: match[0][0] if match[0] in ("{{", "}}") else next(remaining_texts, match[0]), text
    )


def _find_placeholders(text: str) -> list[str]:
    return [match for match in _PLACEHOLDERS.findall(text) if match not in ("{{", "}}")]


def has_formats(text: str) -> bool:
    """Whether an operand of a printed text has a different format than in Python's `print`."""
    return any(placeholder not in ("{}", "{:}") for placeholder in _find_placeholders(text))


def print_type(*operands: Type, text: Any) -> Type:
    holes = placeholder_count(text) if isinstance(text, str) else None
    if holes != len(operands):
        required = "a text with {} for each operand, {{ and }} for braces"
        raise Invalid(
            "the text does not have one {} for each operand",
            required=required,
            got=f"{plural(len(operands), 'operand')} and the text {format_attribute(text)}",
        )
    _check_no_handles(operands)
    for placeholder, operand in zip(_find_placeholders(text), operands, strict=True):
        has_one_axis = operand.shape is None or len(operand.shape) == 1
        if placeholder == LIST_PLACEHOLDER and operand.shape != ():
            continue
        if placeholder == STRING_PLACEHOLDER and operand.dtype.kind == "i" and has_one_axis:
            continue
        if placeholder.startswith(JOIN_PLACEHOLDER) and has_one_axis:
            continue
        try:
            _format_operand(placeholder, np.zeros((), operand.dtype.numpy))
        except ValueError as error:
            required = f"a format of Python for {operand.dtype}"
            raise Invalid(
                "this format is not valid", required=required, got=f"{placeholder}: {error}", python=ValueError
            ) from None
    if any("\ud800" <= letter <= "\udfff" for letter in str(text)):
        raise Invalid("this text cannot be printed", required="Unicode", got=format_attribute(text))
    return _BOOL


def placeholder_count(text: str) -> int | None:
    """The number of operands that a text has places for; None if its braces do not match."""
    unmatched_text = _PLACEHOLDERS.sub("", text)
    return None if "{" in unmatched_text or "}" in unmatched_text else len(_find_placeholders(text))


def callback_type(*operands: Type, function: Any, returns: Any) -> Type:
    if not isinstance(function, str) or not isinstance(returns, Type) or isinstance(returns.dtype, HandleType):
        required = 'a name and a type, as in function="f", returns=float64'
        got = f"function={format_attribute(function)}, returns={format_attribute(returns)}"
        raise Invalid("this is not a valid callback", required=required, got=got)
    _check_no_handles(operands)
    return returns


def _check_no_handles(operands: tuple[Type, ...]) -> None:
    for operand in operands:
        if isinstance(operand.dtype, HandleType):
            raise Invalid("a handle of cells cannot leave the program", required="numbers or arrays", got=operand)


def breakpoint_type(condition: Type) -> Type:
    if condition != _BOOL:
        raise Invalid("the condition of breakpoint is not one bool", required=_BOOL, got=condition)
    return _BOOL


effect_op(
    "print",
    arity=None,
    type_rule=print_type,
    attributes=("text",),
    resource="output",
    output_count=2,
    doc="Print a line: `text`, with an operand for each `{}` in it, or `{:FORMAT}` for a format of Python. The "
    "result is true, once the line is printed.",
)
effect_op(
    "callback",
    arity=None,
    type_rule=callback_type,
    attributes=("function", "returns"),
    resource="python",
    output_count=2,
    doc="Call the Python function of this name, which the run is given, on the operands. Traps if it raises, or does "
    "not return a value of type `returns`.",
)
effect_op(
    "breakpoint",
    arity=1,
    type_rule=breakpoint_type,
    doc="The condition itself. A debugger stops when it fires on true.",
)
