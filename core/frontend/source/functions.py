"""Functions of the program that come from calls of Python functions.

A Python function that converted code calls is a function of the program, as a `tl.function` is, if it changes nothing
outside of itself, and returns values. Symbolic values among its arguments are its parameters; those that it closes over
are hidden arguments; all else that it uses is part of its trace. So it is traced for each call, at the call, and equal
traces are one function. A call of itself under a symbolic condition is a call of a function, too (`recursion.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from ...errors import Invalid
from ..eager.gradients import trace_pullback
from ..eager.recording import recording_tapes
from ..trace.annotation import DerivedFunction, FunctionSpec
from ..trace.captures import VariableBase
from ..trace.mutable_arrays import MutableArray, has_other_names, shared_base
from ..trace.program_builder import NoTypeYet, RegionBuilder, RetraceRequest, Specialization, current_region
from ..trace.pytree import LEAF, StaticLeaf, expose_static_leaves, leaf_names, read_variables, unflatten
from ..trace.source_location import is_marked_inline
from ..trace.stacked_items import DICT_CLASSES, TracedSet
from ..trace.symbol import Symbol
from .array_writes import as_mutable
from .nested_lists import has_shared_lists
from .recursion import PythonCall, Recursion
from .state import Journal, NotIsolated, open_journal, register_containers, staging_depth
from .trees import (
    Tree,
    as_copy,
    flatten_state,
    is_array,
    is_changeable_record,
    is_one_of_several,
    is_symbolic,
    parts_of,
    split,
)

MAX_NESTED_CALLS = 32
"""The most calls inside one another that are functions of the program; deeper ones run in their callers."""


_IS_INLINING: ContextVar[bool] = ContextVar("is inlining", default=False)


@contextmanager
def run_in_caller(region: RegionBuilder, code: CodeType, *, with_callees: bool = False) -> Iterator[None]:
    """Surrounds a call whose operations are nodes of the caller; `with_callees` says that those of all its calls are,
    too."""
    stack = region.specialization.python_calls
    stack.append(PythonCall(code, staging_depth(), Recursion()))
    token = _IS_INLINING.set(with_callees or _IS_INLINING.get())
    try:
        yield
    finally:
        _IS_INLINING.reset(token)
        stack.pop()


def may_be_function(region: RegionBuilder, code: CodeType) -> bool:
    """Whether a call of a function with this code may become a call of the program."""
    return not (
        _IS_INLINING.get()
        or recording_tapes()
        or code.co_name == "<lambda>"
        or is_marked_inline(code)
        or code in region.specialization.program_builder.inlined_codes
        or len(region.specialization.python_calls) >= MAX_NESTED_CALLS
    )


def call_traced(
    region: RegionBuilder,
    function: FunctionType,
    converted: FunctionType,
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Any:
    """Call a Python function as a function of the program, traced for this call. Raises NotIsolated where it must run
    in its caller; then nothing is left of the trace."""
    call = _TracedFunctionCall(region, function, converted, arguments, keywords)
    results = trace_pullback(region, call.spec, call.operands)[1].results
    return call.rebuild_result([Symbol(result) for result in results])


def program_function_name(function: FunctionType, arguments: tuple[Any, ...]) -> str:
    """The name that a Python function has in the program: its own, for a method after that of its object's class; for
    the call of an object, that of its class."""
    if function.__name__ == "__call__" and arguments:
        return type(arguments[0]).__name__
    is_method = function.__code__.co_varnames[:1] == ("self",) and arguments
    return f"{type(arguments[0]).__name__}_{function.__name__}" if is_method else function.__name__


class _TracedFunctionCall:
    """The trace of one call of a Python function."""

    def __init__(
        self,
        region: RegionBuilder,
        function: FunctionType,
        converted: FunctionType,
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> None:
        self.function, self.converted_function, self.keyword_names = function, converted, list(keywords)
        self.outer_calls, self.depth = list(region.specialization.python_calls), staging_depth()
        names = [*argument_names(function.__code__, len(arguments)), *keywords]
        self.arguments = [_split_symbolic(value) for value in (*arguments, *keywords.values())]
        """Each argument: a Tree if there are symbolic values in it."""
        self.operands: list[Any] = []
        parameters: list[tuple[str, None]] = []
        for name, argument in zip(names, self.arguments, strict=True):
            if isinstance(argument, Tree):
                for leaf_name, leaf in zip(leaf_names(argument.treedef, name), argument.leaves, strict=True):
                    if is_symbolic(leaf):
                        self.operands.append(leaf)
                        parameters.append((leaf_name, None))
        derived = DerivedFunction(program_function_name(function, arguments), function, self.run)
        self.spec = FunctionSpec(derived, tuple(parameters), None, is_local=True)
        self.result = Tree([], LEAF)
        self.result_positions: list[int] = []
        """The positions of the leaves of the result that the program computes."""

    def run(self, *symbols: Any) -> tuple[Any, ...] | None:
        """The body, as its trace calls it. Returns the symbolic leaves of the result."""
        region = current_region()
        assert region is not None, "a function of the program is only traced"
        inner = region.specialization
        remaining = (  # a change of an array of the caller is refused here
            as_copy(symbol) if has_other_names(operand) else symbol
            for symbol, operand in zip(symbols, self.operands, strict=True)
        )
        values = [
            _insert(argument, remaining) if isinstance(argument, Tree) else argument for argument in self.arguments
        ]
        count = len(values) - len(self.keyword_names)
        keywords = dict(zip(self.keyword_names, values[count:], strict=True))
        inner.python_calls[:] = [*self.outer_calls, PythonCall(self.function.__code__, self.depth, Recursion())]
        with open_journal(0, is_call=True) as journal:
            try:
                result = read_variables(self.converted_function(*values[:count], **keywords))
                self.result = split(result)
                is_whole = _is_value(result, self.result, journal, values)
            except (NoTypeYet, RetraceRequest):
                journal.undo()
                raise
            except Exception:  # it is raised again in the caller
                journal.undo()
                raise NotIsolated(is_lasting=False) from None
        is_isolated = journal.lasting_effect is None and is_whole and not self._shares_arrays(inner)
        if journal.originals or not is_isolated:
            journal.undo()
            raise NotIsolated(is_lasting=True)
        if not (region.nodes or region.store):
            raise NotIsolated(is_lasting=False)
        self.result_positions = [
            position
            for position, leaf in enumerate(self.result.leaves)
            if is_symbolic(leaf) and leaf._tagloom_value.region.specialization is inner
        ]
        return tuple(self.result.leaves[position] for position in self.result_positions) or None

    def _shares_arrays(self, inner: Specialization) -> bool:
        """Whether an array in the result may share its elements with one of the caller, or with another in the
        result."""
        arrays = list(filter(is_array, self.result.leaves))
        bases = list(map(shared_base, arrays))
        owners = [base for base in bases if base is not None]
        copied = [owner for owner, _ in inner.aliases.copied_arrays.values()]
        are_views = [base is None and has_other_names(array) for array, base in zip(arrays, bases, strict=True)]
        is_of_caller = any(owner._tagloom_value.region.specialization is not inner for owner in (*owners, *copied))
        is_repeated = len(owners) != len(set(map(id, owners)))
        return any(are_views) or (bool(arrays) and is_of_caller) or is_repeated

    def rebuild_result(self, symbols: Sequence[Symbol]) -> Any:
        """The result of the call, with these symbols of the caller; a function without results has one, False."""
        leaves = list(self.result.leaves)
        for position, symbol in zip(self.result_positions, symbols, strict=False):
            leaves[position] = as_mutable(symbol) if type(leaves[position]) is MutableArray else symbol
        return register_containers(unflatten(self.result.treedef, leaves))


def argument_names(code: CodeType, count: int) -> list[str]:
    """Names for this many arguments by position: those of the parameters."""
    names = list(code.co_varnames[: min(count, code.co_argcount)])
    return [*names, *(f"argument_{k}" for k in range(len(names), count))]


def _split_symbolic(value: Any) -> Any:
    """A value as a Tree if there are symbolic values in it, else itself. Raises NotIsolated where that is not known."""
    if is_symbolic(value):
        return Tree([read_variables(value)], LEAF)
    try:
        leaves = flatten_state(value).leaves
        return split(value) if any(map(is_symbolic, leaves)) else value
    except Invalid:
        raise NotIsolated(is_lasting=False) from None


def _insert(tree: Tree, symbols: Iterator[Any]) -> Any:
    """The value of a tree, with other symbolic values."""
    return unflatten(tree.treedef, [next(symbols) if is_symbolic(leaf) else leaf for leaf in tree.leaves])


def _is_value(result: Any, tree: Tree, journal: Journal, arguments: list[Any]) -> bool:
    """Whether a result can be rebuilt from its leaves in the caller: its lists, dicts, sets and dataclasses are new and
    occur once, and no object in it may refer to values of the function."""
    pending, identities = [result], list[int]()
    for item in pending:  # a worklist: the loop appends to it
        if type(item) in (list, *DICT_CLASSES, TracedSet) or is_changeable_record(item):
            identities.append(id(item))
            if id(item) not in journal.created_objects or is_one_of_several(item):
                return False
            if type(item) is list and has_shared_lists(item):  # perhaps with a list of the caller
                return False
        pending += parts_of(item)
    if len(identities) != len(set(identities)):
        return False
    objects = [part.value for part in expose_static_leaves(tree.treedef)[1] if isinstance(part, StaticLeaf)]
    return all(_is_constant(item) or any(item is argument for argument in arguments) for item in objects)


def _is_constant(value: Any) -> bool:
    """Whether an object refers to no value of a function under trace."""
    kinds = (str, bytes, int, float, type(None), type, ModuleType, BuiltinFunctionType, VariableBase, range)
    return isinstance(value, kinds) or (isinstance(value, FunctionType) and not value.__closure__)
