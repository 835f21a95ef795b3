"""Branches and loops of a graph, in either of its forms: functions, or Switch, Merge and frames."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....core.frontend.trace.control_flow import open_subregion
from ....core.frontend.trace.program_builder import current_region, enter_region
from ..functions import name_parameters
from ..refusals import tl
from .values import TensorList, VariableHandle, as_predicate, pack, unpack

DEFAULT_PARALLEL_ITERATIONS = 10


@dataclass(frozen=True, slots=True)
class CarriedLoop:
    """A loop. Its variables are numbered by position."""

    names: Sequence[str]
    starts: Sequence[Any]
    sources: Sequence[Collection[int]]
    """The variables on which the next value of each one depends."""
    condition_sources: Collection[int]
    """The variables on which the condition depends."""
    invariants: Collection[int]
    """The variables that the body passes on unchanged."""
    result_positions: Collection[int]
    """The variables whose last values are used."""
    has_effects: bool
    parallel_iterations: int
    """The largest number of iterations in flight; the default of TensorFlow stands for no bound."""
    test: Callable[[Sequence[Any]], Any]
    advance: Callable[[Sequence[Any], Collection[int]], list[Any]]
    """A function of the values of all variables that returns the next values of the variables at these positions."""


def evaluate_loop(loop: CarriedLoop) -> list[Any]:
    """The last values of the variables of a loop, None for those that are not needed. The loop carries only variables
    that change and on which results or effects depend."""
    handles = {k for k, start in enumerate(loop.starts) if isinstance(start, VariableHandle)}
    fixed = {*loop.invariants, *handles}
    needed_positions = (
        set(range(len(loop.starts))) if loop.has_effects else {*loop.result_positions, *loop.condition_sources}
    )
    while True:
        with_sources = needed_positions.union(*(loop.sources[k] for k in needed_positions if k not in fixed))
        if with_sources == needed_positions:
            break
        needed_positions = with_sources
    carried = [k for k in sorted(needed_positions) if k not in fixed]
    if not carried:  # a loop without iterations, or without end
        carried = [k for k in range(len(loop.starts)) if k not in handles]
    starts = starts_with_shapes(loop, carried)

    def all_values(values: Sequence[Any]) -> list[Any]:
        complete = [start if k in fixed else None for k, start in enumerate(starts)]
        for k, value in zip(carried, values, strict=True):
            complete[k] = unpack(value, starts[k])
        return complete

    name_variables = name_parameters([loop.names[k] for k in carried])

    @name_variables
    def condition(*values: Any) -> Any:
        return as_predicate(loop.test(all_values(values)))

    @name_variables
    def body(*values: Any) -> Any:
        results = loop.advance(all_values(values), carried)
        next_values = tuple(pack(results[k], f"loop variable {loop.names[k]}") for k in carried)
        return next_values if len(next_values) > 1 else next_values[0]

    packed = [pack(starts[k], f"loop variable {loop.names[k]}") for k in carried]
    bound = None if loop.parallel_iterations == DEFAULT_PARALLEL_ITERATIONS else loop.parallel_iterations
    finals = all_values(tl.while_loop(condition, body, *packed, parallel_iterations=bound))
    return [final if k in needed_positions or k in carried else None for k, final in enumerate(finals)]


def starts_with_shapes(loop: CarriedLoop, carried: Sequence[int]) -> list[Any]:
    """The start values of a loop, with a shape for the elements of each list. An unknown shape is that of the elements
    that the body adds: the body is traced into a region that is dropped. Sizes that are known only at run time are
    1."""
    starts = list(loop.starts)
    unknown_lists = [k for k in carried if isinstance(starts[k], TensorList) and starts[k].array is None]
    if not unknown_lists:
        return starts
    region = current_region()
    assert region is not None, "graphs are evaluated in a trace"
    mark = region.mark()
    with enter_region(open_subregion(region)):
        inputs = [tl.identity(start) if isinstance(start, np.ndarray) else start for start in starts]
        results = loop.advance(inputs, unknown_lists)
        shapes = {k: tl.shape(results[k].array)[1:] for k in unknown_lists if results[k].array is not None}
    region.reset(mark)
    for k, sizes in shapes.items():
        static_sizes = [size if isinstance(size, int) else 1 for size in sizes]
        starts[k] = replace(
            starts[k].with_sizes(static_sizes), is_open=not all(isinstance(size, int) for size in sizes)
        )
    return starts


def evaluate_branches(predicate: Any, branches: Sequence[Callable[[], Sequence[Any]]]) -> list[Any]:
    """The results of the branch that a predicate chooses. Of two branches, it is the second if the predicate is true.
    Otherwise it is the one with this number, or the last if the number is out of range."""
    last_results: list[Any] = []

    def pack_results(branch: Callable[[], Sequence[Any]]) -> Callable[[], tuple[Any, ...]]:
        def run() -> tuple[Any, ...]:
            results = branch()
            last_results[:] = results
            arrays = tuple(
                pack(result, "a result of a branch") for result in results if not isinstance(result, VariableHandle)
            )
            return arrays or (np.int32(0),)

        return run

    functions = [pack_results(branch) for branch in branches]
    if len(functions) == 2:
        arrays = iter(tl.cond(as_predicate(predicate), functions[1], functions[0]))
    else:
        last = np.asarray(len(functions) - 1, np.int32)
        index = tl.astype(predicate, tl.int32)
        arrays = iter(tl.switch(tl.where(tl.less(index, np.int32(0)), last, index), functions))
    return [result if isinstance(result, VariableHandle) else unpack(next(arrays), result) for result in last_results]
