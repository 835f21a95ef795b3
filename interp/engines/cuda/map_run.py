"""A run of a map: one thread computes the results of an element, without tokens.

The elements are computed in launches of many threads. An element that takes more iterations and calls than the fuel of
a launch leaves with nothing done, and a later launch with more fuel computes it from its start; so a launch ends, and
between two the host checks the clock and Ctrl-C. If an element traps, the run ends with the trap of the first such
element: the reference runs it, and has the operands and the tag of the trap.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ....core import dtypes
from ....core.dtypes import DType
from ....core.errors import Crash, TagloomError
from ....core.graph.graph import Graph
from ....core.graph.lower import lower
from ....core.ops.effects import EFFECT_OPS
from ....core.ops.op import OPS, trap_message
from ....core.program.program import STRUCTURED_OPS, Program
from ....core.tag import Tag
from ....core.types import HandleType
from ....core.value import Value, admit, borrow
from ...image import image
from ...lru_cache import LRUCache
from ...machine.event import Event, Token
from ...outcome.outcome import Outcome, build_trap, value_outcome
from ..compiled import run as compiled
from ..compiled.support import unsupported_program
from ..interrupt import interrupt_between_steps
from ..jit import kernels
from ..jit.cache import load_module, show_compiling
from ..jit.kernels import LANE_TYPES, lane
from ..limits import LimitMonitor, Limits, depth_error, external_limit_error, resident_memory, resolve_limits
from ..protocol import Job, RunOptions
from ..reference import admit_arguments, run_graph
from .device import (
    BLOCK_THREADS,
    allocate,
    describe_device,
    free_bytes,
    is_simulated,
    launch,
    missing_requirement,
    numba_cuda,
    run_lock,
    simulator_settings,
)
from .element_map import ElementMap, MapOperand, find_element_map
from .kernels import HEADER, INEXACT_OPS
from .kernels import __name__ as kernels_module
from .thread_code import EXIT_DEPTH, EXIT_FUEL, EXIT_RETURNED, ThreadCode, emit_program
from .wave import unsupported_effect, unsupported_options

MAX_DEPTH = 4096
"""The maximal depth of a tag in a map of functions that call themselves: each thread has a stack of so many frames."""
MAX_THREADS = 2**18
"""The most threads of a launch: as many as fit on a large device at once."""
LAUNCH_ELEMENTS = 2**22
"""The most elements of a launch."""
FIRST_FUEL, FUEL_FACTOR, MAX_FUEL = 2**16, 4, 2**62
"""The iterations and calls that an element may take in the first launch, the factor from one launch to the next, and
the most that a launch has."""
REPLAY_FIRINGS = 50_000
"""The most firings of an element that the reference runs for its trap; `compiled` runs longer ones."""

Column: TypeAlias = npt.NDArray[Any]
Results: TypeAlias = list[Value]


@dataclass(frozen=True, slots=True)
class MapCode:
    """The code of a map."""

    element_map: ElementMap
    code: ThreadCode

    @property
    def result_numbers(self) -> list[int]:
        """The numbers of the results of a call that the map collects."""
        return sorted(set(self.element_map.results))


_codes: LRUCache[int, MapCode] = LRUCache(64)
"""The code of recent maps, by the id of the program, which they keep alive."""


def find_map(job: Job) -> ElementMap | None:
    """The map that a job is, or None."""
    return None if job.program is None else find_element_map(job.program)


def unsupported_map(element_map: ElementMap, options: RunOptions) -> str | None:
    """Why a map cannot run with these options, or None."""
    return next(_unsupported_reasons(element_map, options), None) or missing_requirement()


def _unsupported_reasons(element_map: ElementMap, options: RunOptions) -> Iterator[str]:
    names = ("schedule", "until", "keep", "k")
    yield from unsupported_options({name: getattr(options, name) for name in names})
    yield from unsupported_scalars(element_map.element_program)
    yield from unsupported_kernels(map_code(element_map).code.kernel_names)


def unsupported_scalars(program: Program) -> Iterator[str]:
    """Why no code can be generated for a program: it is not one of scalars."""
    for function in program.reachable_functions():
        if any(region.pullback for region in function.body.walk_regions()):
            yield f"without tokens it has no gradients ({function.name})"
        variables = [parameter for region in function.body.walk_regions() for parameter in region.parameters]
        for node in function.body.walk():
            variables += node.results
            if node.op in EFFECT_OPS and node.op != "breakpoint":
                yield f"{unsupported_effect(node.op)} ({function.name}.{node.name})"
            if node.op not in (*STRUCTURED_OPS, "breakpoint") and (node.op not in OPS or OPS[node.op].scalar is None):
                yield f"it has no kernel for {node.op} ({function.name}.{node.name})"
        for variable in variables:
            if not variable.type.is_scalar or isinstance(variable.type.dtype, HandleType):
                yield f"it supports only scalars, and {function.name}.{variable.name} is {variable.type}"
    reason = unsupported_program(program)
    if reason is not None:
        yield reason


def unsupported_kernels(names: Collection[str]) -> Iterator[str]:
    """Why generated code cannot run that calls the functions of `jit.kernels` of these names."""
    missing = set(names) - set(kernels.callable_functions()) - set(_WRAPPING)
    if missing:
        yield f"it has no kernel for {sorted(missing)[0].rpartition('_')[0]}"


_WRAPPING = ("wrapping_add", "wrapping_sub", "wrapping_mul")


def map_code(element_map: ElementMap) -> MapCode:
    """The code of a map, generated on first use."""
    key = id(element_map.program)
    code = _codes.get(key)
    if code is None or code.element_map.program is not element_map.program:
        code = MapCode(element_map, emit_program(element_map.element_program))
        _codes.put(key, code)
    return code


# Kernels


def kernel_text(map_code: MapCode, *, is_simulated: bool) -> str:
    """The module of a map, whose kernel is `map_elements`."""
    element_map, code = map_code.element_map, map_code.code
    parameters = element_map.element_program.main.body.parameters
    columns, texts = list[str](), list[str]()
    for number, (operand, (_, type_)) in enumerate(zip(element_map.operands, parameters, strict=True)):
        if operand.literal is not None:
            texts.append(kernels.literal_expression(operand.literal.value, type_.dtype))
        else:
            columns.append(f"a{number}")
            texts.append(f"a{number}[{'i' if operand.take else 0}]")
    texts = [f"{LANE_TYPES[lane(type_.dtype)]}({text})" for text, (_, type_) in zip(texts, parameters, strict=True)]
    results = [f"r{number}" for number in map_code.result_numbers]
    values = ", ".join(["code", "rest", *(f"v{n}" for n in range(len(element_map.call.results)))])
    lines = [
        program_module(code, is_simulated=is_simulated),
        "@cuda.jit(cache=True)",
        f"def map_elements({', '.join([*columns, *results])}, codes, pending, begin, count, stack, left, fuel):",
        " t = cuda.grid(1)",
        " for number in range(t, count, cuda.gridsize(1)):",
        "  i = begin + number",
        "  if pending.size > 0:",
        "   i = pending[i]",
        f"  {values} = element({', '.join([*texts, 'stack', 't', 'int64(0)', 'left', 'fuel'])})",
        "  codes[i] = code",
        "  if code == 0:",
        *[f"   {name}[i] = v{number}" for name, number in zip(results, map_code.result_numbers, strict=True)],
    ]
    return "\n".join([*lines, ""])


def program_module(code: ThreadCode, *, is_simulated: bool) -> str:
    """The code of a program with the functions that it calls."""
    product = "a * b" if is_simulated else "libdevice.dmul_rn(a, b)"
    lines = [
        HEADER,
        *["from numba.cuda import libdevice"] * (not is_simulated),
        f"import {kernels_module} as called",
        f"globals().update(called.named_device_functions({sorted(code.kernel_names)}))",
        "@cuda.jit(device=True)",
        "def exact_product(a, b):",
        f" return {product}",
        code.text,
    ]
    return "\n".join([*lines, ""])


def device_dtype(dtype: DType) -> np.dtype[Any]:
    """The dtype of a column on the device: floats of 16 bits are float32, which has all their values."""
    return np.dtype(np.float32) if dtype in dtypes.FLOAT_FORMATS else dtype.numpy


def load_kernel(map_code: MapCode, columns: Sequence[DType]) -> Any:
    """The compiled kernel; `columns` are the dtypes of its arguments and results."""
    text = f"# {describe_device()}\n{kernel_text(map_code, is_simulated=is_simulated())}"

    def compile_kernel(module: Any) -> None:
        to_device = numba_cuda().to_device
        blank = [to_device(np.zeros(1, device_dtype(dtype))) for dtype in columns]
        tables = [to_device(np.zeros(1, np.int32)), to_device(np.zeros(0, np.int64))]
        launch(module.map_elements, 1, *blank, *tables, 0, 0, to_device(np.zeros((1, 1), np.int64)), 0, 0)

    with show_compiling(f"the map of {map_code.element_map.function}"):
        return load_module("map", text, compile_kernel).map_elements


# Runs


class MapRun:
    """A run of a supported map on its arguments."""

    def __init__(self, element_map: ElementMap, graph: Graph, arguments: Sequence[Value], limits: Limits) -> None:
        self.code = map_code(element_map)
        self.element_map, self.graph, self.arguments, self.limits = element_map, graph, arguments, limits
        self.count = element_map.count(arguments)
        lengths = [len(arguments[o.parameter]) for o in element_map.operands if o.take]  # type: ignore[arg-type]
        self.present = min([self.count, *lengths])
        """The number of elements before the first that an array lacks, at which the program traps."""
        self.parameters = [parameter.type for parameter in element_map.element_program.main.body.parameters]
        self.result_types = [element_map.call.results[number].type for number in self.code.result_numbers]
        self.max_depth = MAX_DEPTH if self.code.code.frame_words else image.MAX_DEPTH
        self.depth = min(limits.depth, self.max_depth)
        self.codes = np.full(self.present, EXIT_FUEL, np.int32)
        """The exit code of each element; EXIT_FUEL for those that have not been computed."""
        self.host_results: dict[int, list[Value]] = {}
        """The results of elements that trap on the device and return on the host: the last bits of elementary functions
        decide that."""

    def run(self) -> Results | TagloomError | Event:
        """The results of the program, the limit that ended the run, or the event of the trap that did."""
        if self.depth < 1 + (self.count > 0):
            return depth_error(self.limits, "cuda", self.max_depth)
        with simulator_settings():
            kernel = load_kernel(self.code, [*self.column_types(), *(type_.dtype for type_ in self.result_types)])
            with interrupt_between_steps() as interrupt:
                monitor = LimitMonitor(self.limits.seconds, self.limits.bytes, interrupt)
                try:
                    ending = self.compute(kernel, monitor)
                except MemoryError:
                    ending = "bytes"
                if ending == "interrupt":
                    interrupt.acknowledge()
        return external_limit_error(ending, self.limits) if isinstance(ending, str) else ending

    def compute(self, kernel: Any, monitor: LimitMonitor) -> Results | TagloomError | Event | str:
        """Compute the elements, up to the first that fails. Returns the name of an external limit, or as `run`. Raises
        MemoryError."""
        columns = [self.argument_column(operand) for operand in self.element_map.operands if operand.literal is None]
        dtypes_ = [device_dtype(type_.dtype) for type_ in self.result_types]
        stack_rows = (self.depth - 1) * self.code.code.frame_words  # the function of an element is at depth 2
        column_bytes = sum(column.nbytes for column in columns) + self.present * sum(d.itemsize for d in dtypes_)
        threads = self.thread_count(column_bytes + 12 * self.present, 8 * stack_rows)
        to_device = numba_cuda().to_device
        arguments = [to_device(column) for column in columns]
        results = [allocate((self.present,), dtype) for dtype in dtypes_]
        codes, pending = to_device(self.codes), to_device(np.zeros(0, np.int64))
        stack = allocate((max(stack_rows, 1), launched_threads(threads)), np.dtype(np.int64))
        fuel, end = FIRST_FUEL, self.present
        while True:
            for begin in range(0, end, LAUNCH_ELEMENTS):
                exceeded_limit = monitor.exceeded_limit(0, None)
                if exceeded_limit is not None:
                    return exceeded_limit
                count = min(LAUNCH_ELEMENTS, end - begin)
                tables = codes, pending, begin, count, stack, self.depth - 2, fuel
                launch(kernel, min(threads, count), *arguments, *results, *tables)
                numba_cuda().synchronize()
            if end:
                codes.copy_to_host(self.codes)
            self.codes[list(self.host_results)] = EXIT_RETURNED
            ending = self.ending_of_failure()
            unfinished = np.flatnonzero(self.codes == EXIT_FUEL)
            if ending is not None or not len(unfinished):
                break
            pending, end = to_device(unfinished.astype(np.int64)), len(unfinished)
            fuel = min(fuel * FUEL_FACTOR, MAX_FUEL)
        return ending if ending is not None else self.results([column.copy_to_host() for column in results])

    def ending_of_failure(self) -> TagloomError | Event | None:
        """How the run ends if the first element that has not returned fails; None if none has, or if more fuel must
        decide about it."""
        while (element := first_failure(self.codes)) is not None:
            match int(self.codes[element]):
                case code if code == EXIT_FUEL:
                    return None
                case code if code == EXIT_DEPTH:
                    return depth_error(self.limits, "cuda", self.max_depth)
            results = self.replay(element)
            if isinstance(results, Event):
                return results
            self.host_results[element], self.codes[element] = results, EXIT_RETURNED
        return self.missing_element_event() if self.present < self.count else None

    def replay(self, element: int) -> Event | list[Value]:
        """Run an element on the host: the event of its trap, as one of this run, or its results."""
        program = self.element_map.element_program
        graph, arguments = lower(program), [self.operand(operand, element) for operand in self.element_map.operands]
        outcome = run_graph(graph, arguments, limits=Limits(firings=REPLAY_FIRINGS))
        if outcome.status == "Exhausted":
            compiled_outcome = compiled.run_compiled(program, graph, arguments, limits=self.limits)
            assert compiled_outcome is not None, "an element has no cells"
            outcome = compiled_outcome
        if outcome.status == "Returned":
            if INEXACT_OPS.isdisjoint(node.op for node in graph.nodes):
                raise Crash("an element trapped on the device, and not on the host", where=graph.name, got=arguments)
            return [value for value in outcome.results if value is not None]
        if not outcome.trap_events:
            raise outcome.error or AssertionError(outcome.status)
        event = outcome.trap_events[0]
        node, tag = graph.nodes[event.token.node], self.element_map.element_tag(element, event.token.tag)
        assert event.inputs is not None
        return self.trap_event(str(node), tag, event.inputs[: len(event.inputs) - node.has_trigger], event.trap)

    def missing_element_event(self) -> Event:
        """The event of the trap of the first element that an array lacks."""
        takes = [
            (operand.take, self.arguments[operand.parameter])
            for operand in self.element_map.operands
            if operand.take is not None
        ]
        take, array = next((take, array) for take, array in takes if len(array) == self.present)  # type: ignore[arg-type]
        operands, tag = (array, self.present), self.element_map.element_tag(self.present)
        message = trap_message(OPS[take.op], operands, take.attributes)
        return self.trap_event(f"{self.element_map.program.entry}.{take.name}", tag, operands, message)

    def trap_event(self, node: str, tag: Tag, operands: Sequence[Value], message: str | None) -> Event:
        """The event of a firing that traps."""
        number = self.graph.only(node)
        inputs = (*operands, *(True,) * self.graph.nodes[number].has_trigger)
        return Event(Token(number, 0, tag, inputs[0]), 0, inputs, (), (), message, (), False)

    def results(self, columns: Sequence[Column]) -> Results:
        """The results of the program, from the columns of the device."""
        by_number: dict[int, Value] = {}
        for number, column, type_ in zip(self.code.result_numbers, columns, self.result_types, strict=True):
            array = column.astype(type_.dtype.numpy, copy=False)
            for element, values in self.host_results.items():
                array[element] = values[number]
            by_number[number] = array
        return [by_number[number] for number in self.element_map.results]

    # Arguments and threads

    def column_types(self) -> list[DType]:
        """The dtypes of the columns of arguments."""
        pairs = zip(self.element_map.operands, self.parameters, strict=True)
        return [type_.dtype for operand, type_ in pairs if operand.literal is None]

    def argument_column(self, operand: MapOperand) -> Column:
        """The column of an operand: an element for each thread, or one for all."""
        argument = self.arguments[operand.parameter]
        type_ = self.parameters[self.element_map.operands.index(operand)]
        column = np.atleast_1d(np.asarray(argument, type_.dtype.numpy))
        return column[: self.present if operand.take else 1].astype(device_dtype(type_.dtype), copy=False)

    def operand(self, operand: MapOperand, element: int) -> Value:
        """The value of an operand of an element."""
        if operand.literal is not None:
            return operand.literal.value
        value = self.arguments[operand.parameter]
        if operand.take is None:
            return value
        type_ = self.parameters[self.element_map.operands.index(operand)]
        return admit(value[element], type_)  # type: ignore[index]

    def thread_count(self, column_bytes: int, stack_bytes: int) -> int:
        """How many threads a launch may have. Raises MemoryError if the memory does not suffice for one block."""
        room = min(self.limits.bytes - resident_memory(), free_bytes() / 2) - column_bytes
        threads = min(MAX_THREADS, max(self.present, 1))
        if stack_bytes:
            threads = min(threads, int(min(room / stack_bytes, MAX_THREADS)) // BLOCK_THREADS * BLOCK_THREADS or 1)
        if room < launched_threads(threads) * stack_bytes:
            raise MemoryError
        return threads


def first_failure(codes: Column) -> int | None:
    """The first element that has not returned."""
    failures = np.flatnonzero(codes)
    return int(failures[0]) if len(failures) else None


def launched_threads(count: int) -> int:
    """How many threads a launch of at least `count` has, in whole blocks."""
    return -(-count // BLOCK_THREADS) * min(count, BLOCK_THREADS)


def run_map(job: Job, element_map: ElementMap, arguments: Sequence[object], limits: Limits | None) -> Outcome:
    """Run a supported map; the outcome says how the run ended. Raises Usage if the arguments do not fit."""
    admitted = admit_arguments(job.graph, arguments, borrow)
    with run_lock:
        ending = MapRun(element_map, job.graph, admitted, resolve_limits(limits)).run()
    if isinstance(ending, Event):
        return value_outcome(job.graph, job.structure, "cuda", None, build_trap(job.graph, ending), (ending,))
    if isinstance(ending, TagloomError):
        return value_outcome(job.graph, job.structure, "cuda", None, ending)
    return value_outcome(job.graph, job.structure, "cuda", ending)
