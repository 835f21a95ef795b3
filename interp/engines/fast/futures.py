"""Futures: results of ops on arrays that the machine sends on before they are computed, so that many firings are
computed at once.

A *future* is the number of an object whose value is still to come. The machine fires a node on arrays as usual, with
the same counts and the same tokens. But it sends a future instead of a value, and notes the firing in a row of a table.
When a value is needed, all futures are computed, level by level. On one level, firings of ops with the same operand
types form a batch, whatever their nodes and tags are: their operands are stacked, and one call of NumPy computes all
results. The first such batches were those of TensorFlow Fold (Looks et al., 2017) and DyNet (Neubig et al., 2017).

The result of a firing does not depend on its batch. Only ops that compute an element of a stack to the bit as they
compute it alone have a stacked kernel (`core.ops.stacking`); other firings are computed one by one. A firing whose
result is a future never traps: sizes are known, and where the values of integers decide, they are tested first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ....core.dtypes import FLOAT_FORMATS
from ....core.graph.graph import GraphNode
from ....core.ops.op import OPS, Op, dynamic_size_count, index_bound, is_undefined
from ....core.ops.stacking import StackedKernel, build_stacked_kernel
from ....core.tag import ROOT
from ....core.types import Type
from ....core.value import Value
from ...image.image import SCRATCH_WORD, Image, NodeColumn, PortColumn, WordArray, is_boxed
from ...image.opcodes import Opcode
from ...machine.fire import FiringRule
from ..limits import resident_memory
from ..long_ops import OpAbandoned
from .layout import ArrayNodeColumn, FutureColumn, MachineOption, Register
from .store import TokenStore

MAX_OPERANDS = 3
"""A node of more operands is left to Python. The columns of a port locate as many."""
MAX_ELEMENTS = 2**16
"""A result or operand of more elements is not part of a firing whose result is a future: it would take long."""
MAX_STACKED_ELEMENTS = 2**12
"""An array of more elements is not stacked: its elements outweigh a call of NumPy."""
MAX_SUPERLINEAR_ELEMENTS = 2**12
"""The same as MAX_ELEMENTS for an op without a kernel on stacks whose work grows faster than its operands."""
MAX_BATCH_ELEMENTS = 2**20
"""A batch is computed in parts of this many elements, between which limits are checked."""
MAX_BATCH_COST = 2**23
"""A part takes roughly this many nanoseconds at most."""
UNCHECKED_COST = 2**18
"""Limits are checked before firings of this cost together."""
MIN_BATCH_FIRINGS, MIN_BATCHED_FUTURES = 3, 24
"""Fewer firings are computed one by one, in a batch or in the whole table: stacking costs more."""
FIRST_ROOM, MAX_ROOM = 2**8, 2**17
"""The number of rows of the table at first, and at most."""
MAX_FUTURE_COST, MIN_FUTURE_COST = 2**26, 2**20
"""When futures have this cost together, they are computed; sooner if the limit on memory is near. The cost of a firing
is the larger of the bytes of its result and the nanoseconds that it may take. So the memory of futures is bounded, and
the time to compute them after a limit or Ctrl-C."""
FIRING_NANOSECONDS, STACKED_FIRING_NANOSECONDS = 2**11, 2**9
"""The least time of a firing, alone and in a batch."""
MAX_COPIED_ELEMENTS = 2**14
"""An array of more elements is not copied so that the machine can read some of them."""
VALUES_PER_ARRAY = 8
"""As many results are parts of one array in memory, which copies them in a quarter of the time. The last of them keeps
the array alive."""
NO_POOL = -1
"""The pool of arrays that are not stacked."""

Array = npt.NDArray[Any]


@dataclass(eq=False)
class Signature:
    """The common signature of the firings of a batch: an op with its attributes, and the types of operands and
    result."""

    row: Op
    operands: tuple[Type, ...]
    result: Type
    attributes: tuple[tuple[str, Any], ...]
    pools: tuple[int, ...]
    """The pool of each operand."""
    result_pool: int

    @cached_property
    def kernel(self) -> StackedKernel | None:
        """The kernel on stacks; None if the firings are computed one by one."""
        if self.result_pool == NO_POOL:
            return None
        return build_stacked_kernel(self.row, self.operands, self.result, self.attributes)

    @cached_property
    def large_operands(self) -> list[int]:
        """The positions of the operands that are arrays without a pool."""
        return [
            position
            for position, (type_, pool) in enumerate(zip(self.operands, self.pools, strict=True))
            if pool == NO_POOL and is_boxed(type_)
        ]

    @cached_property
    def batch_size(self) -> int:
        """The most firings of a part of a batch."""
        size = max(1, *map(element_count, (*self.operands, self.result)))
        return max(1, min(MAX_BATCH_ELEMENTS // size, MAX_BATCH_COST // self.cost))

    @cached_property
    def cost(self) -> int:
        """The cost of a firing."""
        return firing_cost(self.row, (*self.operands, self.result))


class FuturePlan:
    """Which nodes of an image send futures, and how these are computed."""

    def __init__(self, image: Image) -> None:
        graph = image.graph
        self.signatures: list[Signature] = []
        self.pool_types: list[Type] = []
        """The type of the arrays of each pool."""
        self.signature_of_node = np.full(len(graph.nodes), -1, np.int64)
        self.array_nodes = np.zeros((len(graph.nodes), len(ArrayNodeColumn)), np.int64)
        self.array_nodes[:, ArrayNodeColumn.INDEX] = -1
        self.machine_nodes: list[int] = []
        """The nodes that never trap, or only for an index that the machine can test: it sends their futures."""
        self.tested_nodes: set[int] = set()
        """The nodes that trap for some values of operands that are not floats: Python tests these first, unless the
        machine does."""
        self.element_nodes: set[int] = set()
        """The nodes whose results are elements of arrays, which the machine sends."""
        numbers, pools = dict[Any, int](), dict[Type, int]()
        for number, node in enumerate(graph.nodes):
            first = image.first_port[number]
            types = image.port_types[first : first + len(node.ports)]
            if image.nodes[number, NodeColumn.CODE] != Opcode.FALLBACK or node.op not in OPS or node.has_trigger:
                continue
            row, result = OPS[node.op], node.outputs[0].type
            bound = index_bound(row, types, node.attributes)
            if bound is not None:
                index = len(types) - 1
                self.array_nodes[number, [ArrayNodeColumn.INDEX, ArrayNodeColumn.BOUND]] = index, bound
            if bound is not None and is_element(types, result):
                self.element_nodes.add(number)
            if not can_send_future(node, types):
                continue
            key = row.name, repr(node.attributes), types, result  # 0.0 and -0.0 are equal
            if key not in numbers:
                numbers[key] = len(self.signatures)
                all_pools = [self._pool(type_, pools) for type_ in (*types, result)]
                signature = Signature(row, types, result, node.attributes, tuple(all_pools[:-1]), all_pools[-1])
                self.signatures.append(signature)
            self.signature_of_node[number] = numbers[key]
            self.array_nodes[number, ArrayNodeColumn.FUTURE_COST] = firing_cost(row, (*types, result))
            if may_trap(row, types):
                self.tested_nodes.add(number)
            if bound is not None or number not in self.tested_nodes:
                self.machine_nodes.append(number)
        pads = [(NO_POOL,) * (MAX_OPERANDS - len(signature.pools)) for signature in self.signatures]
        flags = [tuple(map(is_boxed, signature.operands)) for signature in self.signatures]
        self.operand_pools = np.array(
            [(*signature.pools, *pad) for signature, pad in zip(self.signatures, pads, strict=True)], np.int64
        )
        self.result_pools = np.array([signature.result_pool for signature in self.signatures], np.int64)
        self.are_objects = np.array(
            [(*row_flags, *[False] * len(pad)) for row_flags, pad in zip(flags, pads, strict=True)], np.bool_
        )

    def _pool(self, type_: Type, pools: dict[Type, int]) -> int:
        if type_.is_scalar or element_count(type_) > MAX_STACKED_ELEMENTS:
            return NO_POOL
        if type_ not in pools:
            pools[type_] = len(self.pool_types)
            self.pool_types.append(type_)
        return pools[type_]


_plans: WeakKeyDictionary[Image, FuturePlan] = WeakKeyDictionary()


def future_plan(image: Image) -> FuturePlan:
    """The plan of an image, cached."""
    plan = _plans.get(image)
    if plan is None:
        plan = _plans[image] = FuturePlan(image)
    return plan


def can_send_future(node: GraphNode, operands: Sequence[Type]) -> bool:
    """Whether the result of a node that fires on the host may be a future: an array of known size, of an op on operands
    of known sizes, and of few elements."""
    row = OPS.get(node.op)
    if (
        row is None
        or node.has_trigger
        or len(operands) > MAX_OPERANDS
        or dynamic_size_count(row, dict(node.attributes))
    ):
        return False
    condition = row.trap_condition
    if condition is not None and "f" in condition.dtype_kinds:
        return False
    result = node.outputs[0].type
    if result.is_scalar or not all(map(has_few_elements, (*operands, result))):
        return False
    is_linear = row.stacking is not None or not row.has_superlinear_work
    return is_linear or sum(map(element_count, operands)) <= MAX_SUPERLINEAR_ELEMENTS


def is_element(operands: Sequence[Type], result: Type) -> bool:
    """Whether an op with an index bound has an element of operand 0 as its result, which the machine can send: it has
    one index, and the array one axis. Scalars of 16 bits have different words than elements."""
    x = operands[0]
    return (
        len(operands) == 2
        and result.is_scalar
        and x.shape is not None
        and len(x.shape) == 1
        and x.dtype is result.dtype
        and x.dtype not in FLOAT_FORMATS
        and x.dtype.kind != "h"
    )


def element_words(value: Array) -> WordArray | None:
    """The elements of an array as words of scalars; None if a copy would take long. Arrays of words are not copied."""
    if value.dtype.itemsize < 8 and value.size > MAX_COPIED_ELEMENTS:
        return None
    wide = {"f": np.float64, "u": np.uint64}.get(value.dtype.kind, np.int64)
    return np.ascontiguousarray(value, wide).view(np.int64)


def element_count(type_: Type) -> int:
    """The number of elements of a type whose sizes are known."""
    return math.prod(type_.shape or ())  # type: ignore[arg-type]


def firing_cost(row: Op, types: Sequence[Type]) -> int:
    """The cost of a firing of an op on operands and a result of these types: bytes or nanoseconds. If the work grows
    faster than the operands, it is that of a product of matrices, m times n times k, or of a decomposition, the third
    power of the size; decompositions take several operations for each, and BLAS makes several at once."""
    counts = [element_count(type_) for type_ in types]
    is_stacked = row.stacking is not None or row.scalar is not None
    nanoseconds = STACKED_FIRING_NANOSECONDS if is_stacked else FIRING_NANOSECONDS
    if row.has_superlinear_work:
        work = math.prod(counts) ** (1.5 / len(counts))
        nanoseconds += round(work / 4 if row.stacking is not None else 8 * work)
    else:
        nanoseconds += sum(counts)
    return max(counts[-1] * types[-1].dtype.numpy.itemsize, nanoseconds)


def has_few_elements(type_: Type) -> bool:
    """Whether values of this type are not handles, and have a known number of elements, which is not large."""
    sizes = type_.shape
    if sizes is None or type_.dtype.kind == "h":
        return False
    return None not in sizes and element_count(type_) <= MAX_ELEMENTS


def may_trap(row: Op, operands: Sequence[Type]) -> bool:
    """Whether an op may trap on operands of these types, whose sizes are known and fit."""
    condition = row.trap_condition
    return condition is not None and operands[-1].dtype.kind in condition.dtype_kinds


class Futures:
    """The futures of a run, and their computation."""

    def __init__(self, store: TokenStore, rules: Callable[[], Sequence[FiringRule]], memory_limit: int) -> None:
        self._store, self._rules, self._memory_limit = store, rules, memory_limit
        self._plan = future_plan(store.image)
        self._is_installed = False
        self.stop_reason: Callable[[], str | None] = lambda: None
        """Returns the reason, if any, to end the run while futures are computed."""
        self._unchecked_cost = UNCHECKED_COST
        """The cost of the firings that were computed since limits were last checked."""
        store.array_nodes = self._plan.array_nodes
        store.compute_futures = self.compute
        store.mark_moved()

    def install(self) -> None:
        """Have all nodes send futures and elements that can, until the codes of the store change."""
        self._store.codes[[*self._plan.element_nodes]] = Opcode.ELEMENT
        if not self._plan.signatures:
            return
        if not len(self._store.futures):
            self._extend_table(FIRST_ROOM)
        self._store.codes[self._plan.machine_nodes] = Opcode.FUTURE
        self._is_installed = True

    def uninstall(self) -> None:
        """Note that the codes of the store have changed: no node sends futures."""
        self._is_installed = False

    def make_room(self) -> None:
        """Make room for more futures, in a larger table or by computing them all."""
        store = self._store
        if self._is_costly() or len(store.futures) >= MAX_ROOM:
            self.compute()
        else:
            self._extend_table(4 * len(store.futures))

    def _is_costly(self) -> bool:
        store = self._store
        return bool(store.registers[Register.FUTURE_COST] > store.options[MachineOption.FUTURE_COST_LIMIT])

    def _extend_table(self, size: int) -> None:
        store, old = self._store, self._store.futures
        table = np.zeros((size, len(FutureColumn)), np.int64)
        table[: len(old)] = old
        table[len(old) :, FutureColumn.RESULT] = self._take_results(size - len(old))
        store.futures = table
        self._limit_cost()
        store.mark_moved()

    def _take_results(self, count: int) -> list[int]:
        """Numbers of objects for results. The rows of the table refer to them."""
        numbers = self._store.take_numbers(count)
        self._store.reference_counts[numbers] = 1
        return numbers

    def _limit_cost(self) -> None:
        room = (self._memory_limit - resident_memory()) // 4
        self._store.options[MachineOption.FUTURE_COST_LIMIT] = min(MAX_FUTURE_COST, max(MIN_FUTURE_COST, room))

    def share_elements(self, node: int, frame: int, port: int, word: int, array: Value) -> None:
        """Let the machine read the elements of the array that a node of the plan takes one of: operand 0."""
        if node in self._plan.element_nodes and isinstance(array, np.ndarray):
            number, words = self._operand_words(port, frame, word, 1)[0], element_words(array)
            if words is not None and number not in self._store.elements:
                self._store.share_elements(number, words)

    def _operand_words(self, port: int, frame: int, word: int, count: int) -> list[int]:
        """The words of the first operands of a firing whose last token has this word and comes to this port."""
        store = self._store
        offsets = store.image.ports[port, PortColumn.OPERAND_0 : PortColumn.OPERAND_0 + count].tolist()
        return [
            word if offset == ~SCRATCH_WORD else int(store.memory[frame + offset if offset >= 0 else ~offset])
            for offset in offsets
        ]

    def find_operands(self, node: int, port: int, frame: int, word: int) -> list[int] | None:
        """The words of the operands of a firing that the machine leaves to Python, whose last token has this word and
        comes to this port of the image; None if the node sends no futures, or the firing may trap."""
        if not self._is_installed or node not in self._plan.tested_nodes:
            return None
        store = self._store
        signature = self._plan.signatures[self._plan.signature_of_node[node]]
        words = self._operand_words(port, frame, word, len(signature.operands))
        operands = list[Value]()
        for operand, type_ in zip(words, signature.operands, strict=True):
            is_future = is_boxed(type_) and store.object_levels[operand] > 0
            if is_future and type_.dtype.kind != "f":
                return None
            operands.append(placeholder(type_) if is_future else store.to_value(operand, type_))
        return None if is_undefined(signature.row, tuple(operands), signature.attributes) else words

    def note(self, node: int, operands: Sequence[int]) -> int:
        """Note a firing of a node on operands with these words; returns the number of its result, a future. Raises
        OpAbandoned and MemoryError as `compute` does."""
        store, r = self._store, self._store.registers
        if r[Register.FUTURES] >= len(store.futures) or self._is_costly():
            self.make_room()
        row = store.futures[r[Register.FUTURES]]
        result, types = (
            int(row[FutureColumn.RESULT]),
            self._plan.signatures[self._plan.signature_of_node[node]].operands,
        )
        levels = [
            int(store.object_levels[word]) for word, type_ in zip(operands, types, strict=True) if is_boxed(type_)
        ]
        row[[FutureColumn.NODE, FutureColumn.LEVEL]] = node, max(levels, default=0) + 1
        row[FutureColumn.OPERAND_0 : FutureColumn.OPERAND_0 + len(operands)] = operands
        store.object_levels[result] = row[FutureColumn.LEVEL]
        r[Register.FUTURES] += 1
        r[Register.FUTURE_COST] += self._plan.array_nodes[node, ArrayNodeColumn.FUTURE_COST]
        return result

    def compute(self) -> None:
        """Compute all futures. Raises OpAbandoned if a limit ends the run meanwhile, and MemoryError; the futures are
        to come then as before."""
        store, plan = self._store, self._plan
        r = store.registers
        count = int(r[Register.FUTURES])
        if not count:
            r[Register.FUTURE_COST] = 0
            return
        table = store.futures[:count]
        batch = self._compute_in_order if count < MIN_BATCHED_FUTURES else self._compute_in_batches
        signatures = plan.signature_of_node[table[:, FutureColumn.NODE]]
        results, operands = table[:, FutureColumn.RESULT], table[:, FutureColumn.OPERAND_0 :]
        operands = operands[plan.are_objects[signatures]]
        remaining = store.reference_counts - np.bincount(operands, minlength=len(store.reference_counts))
        remaining[results] -= 1
        values = batch(table, signatures, remaining)
        store.reference_counts[:] = remaining
        for number, value in values.items():
            store.objects[number] = value
        store.allocated_bytes += sum(getattr(value, "nbytes", 0) for value in values.values())
        store.object_levels[results] = 0
        dead = np.unique(operands[remaining[operands] == 0]).tolist()
        # not results, whose numbers the table keeps
        store.free_objects([number for number in dead if store.objects[number] is not None])
        is_used = remaining[results] > 0
        table[is_used, FutureColumn.RESULT] = self._take_results(int(is_used.sum()))
        store.reference_counts[results[~is_used]] = 1
        r[[Register.FUTURES, Register.FUTURE_COST]] = 0
        self._limit_cost()

    def _compute_in_order(self, table: WordArray, signatures: WordArray, remaining: WordArray) -> dict[int, Value]:
        """The values of the results that tokens refer to, computed one by one; `remaining` has the references to each
        object that are left then."""
        store, rules, values = self._store, self._rules(), dict[int, Value]()
        for (node, result, _, *operands), number in zip(table.tolist(), signatures.tolist(), strict=True):
            self._check_limits()
            types = self._plan.signatures[number].operands
            inputs = [
                values[word] if is_boxed(type_) and word in values else store.to_value(word, type_)
                for word, type_ in zip(operands, types, strict=False)
            ]
            values[result] = compute_alone(rules[node], tuple(inputs))
        return {number: value for number, value in values.items() if remaining[number]}

    def _compute_in_batches(self, table: WordArray, signatures: WordArray, remaining: WordArray) -> dict[int, Value]:
        """The same, in batches."""
        order = np.lexsort((signatures, table[:, FutureColumn.LEVEL]))
        table, signatures = table[order], signatures[order]
        levels = table[:, FutureColumn.LEVEL]
        pools = Pools(self._store, self._plan, self._rules(), table, signatures, remaining)
        begins = np.flatnonzero((np.diff(levels, prepend=0) != 0) | (np.diff(signatures, prepend=-1) != 0)).tolist()
        for begin, end in zip(begins, [*begins[1:], len(table)], strict=True):
            signature = self._plan.signatures[signatures[begin]]
            for first in range(begin, end, signature.batch_size):
                last = min(first + signature.batch_size, end)
                self._check_limits((last - first) * signature.cost)
                if last - first < MIN_BATCH_FIRINGS or not pools.compute_batch(signature, first, last):
                    pools.compute_one_by_one(signature, first, last)
        return pools.results(self._check_limits)

    def _check_limits(self, cost: int = UNCHECKED_COST) -> None:
        """Raises OpAbandoned if the run must end; checks that only now and then, before firings of this cost."""
        self._unchecked_cost += cost
        if self._unchecked_cost >= UNCHECKED_COST:
            self._unchecked_cost = 0
            reason = self.stop_reason()
            if reason is not None:
                raise OpAbandoned(reason)


def placeholder(type_: Type) -> Value:
    """An array of this type, for a test that reads only the shapes of floats."""
    return np.broadcast_to(np.zeros((), type_.dtype.numpy), type_.shape)  # type: ignore[arg-type]


def compute_alone(rule: FiringRule, inputs: tuple[Value, ...]) -> Value:
    """The result of a firing of an op, which does not depend on its tag."""
    ((_, value),) = rule.compute(inputs, ROOT)
    return value


class Pools:
    """The arrays of one computation of futures. A pool has the small ones of one type, one behind the other, so that
    operands are stacked by their rows. A larger array is computed just before the first firing that needs it, and kept
    until the last one: so few of them are alive, and they are computed in memory that is in the caches."""

    def __init__(
        self,
        store: TokenStore,
        plan: FuturePlan,
        rules: Sequence[FiringRule],
        table: WordArray,
        signatures: WordArray,
        remaining: WordArray,
    ) -> None:
        self._store, self._plan, self._rules, self._remaining = store, plan, rules, remaining
        self._nodes, self._results = table[:, FutureColumn.NODE], table[:, FutureColumn.RESULT]
        self._operands = table[:, FutureColumn.OPERAND_0 :]
        self._result_pools = plan.result_pools[signatures]
        are_objects, operand_pools = plan.are_objects[signatures], plan.operand_pools[signatures]
        are_values = are_objects & (store.object_levels[np.where(are_objects, self._operands, 0)] == 0)
        self._rows = np.full(len(store.objects), -1, np.int64)
        self._pools: list[Array] = []
        are_stacked = are_values & (operand_pools != NO_POOL)
        pairs = np.unique(operand_pools[are_stacked] << 32 | self._operands[are_stacked])
        bounds = np.searchsorted(pairs, np.arange(len(plan.pool_types) + 1) << 32).tolist()
        all_values = pairs & (1 << 32) - 1
        for number, type_ in enumerate(plan.pool_types):
            own = self._results[self._result_pools == number]
            values = all_values[bounds[number] : bounds[number + 1]]
            shape: Any = type_.shape
            pool = np.empty((len(values) + len(own), *shape), type_.dtype.numpy)
            if len(values):
                arrays: Any = [store.objects[value] for value in values.tolist()]
                rows = pool[: len(values)].reshape(len(values) * shape[0], *shape[1:])
                np.concatenate(arrays, out=rows)  # a fifth of the time of `stack`
            self._rows[values], self._rows[own] = np.arange(len(values)), np.arange(len(values), len(pool))
            self._pools.append(pool)
        large = self._operands[are_objects & ~are_values & (operand_pools == NO_POOL)]
        self._uses = dict(zip(*(array.tolist() for array in np.unique(large, return_counts=True)), strict=True))
        """How many firings that are still to be computed need each large array."""
        self._large: dict[int, Value] = {}
        self._pending: dict[int, tuple[int, Signature, tuple[int, ...]]] = {}
        """The node, the signature and the words of the operands of each large array that is still to be computed."""
        self._number_by_firing: dict[tuple[Any, ...], int] = {}
        self._equal_numbers: dict[int, int] = {}
        """The number of an equal large array, the first of several with the same operands, by those of the others."""
        self._needed_numbers: set[int] = set()
        """The large arrays that tokens need."""

    def _large_number(self, word: int) -> int:
        return self._equal_numbers.get(word, word)

    def _value(self, word: int, type_: Type, pool: int) -> Value:
        if pool != NO_POOL:
            value: Value = self._pools[pool][self._rows[word]]
            return value
        if is_boxed(type_):
            number = self._large_number(word)
            if number in self._pending:
                self._compute_pending(number)
            if number in self._large:
                return self._large[number]
        return self._store.to_value(word, type_)

    def compute_batch(self, signature: Signature, first: int, last: int) -> bool:
        """Compute these firings at once, if they have a kernel for stacks; returns whether it does."""
        kernel = signature.kernel
        if kernel is None:
            return False
        columns = self._operands[first:last].T
        operands, is_stack = list[Any](), False
        for position, (type_, pool) in enumerate(zip(signature.operands, signature.pools, strict=True)):
            words = columns[position]
            word, are_same = int(words[0]), bool((words == words[0]).all())
            if position in signature.large_operands and not are_same:
                are_same = len(set(map(self._large_number, words.tolist()))) == 1
            if are_same:
                operands.append(self._value(word, type_, pool))
            elif pool == NO_POOL:
                return False
            else:
                operands.append(self._pools[pool].take(self._rows[words], axis=0))
                is_stack = True
        if not is_stack:
            return False
        row = self._rows[self._results[first]]
        self._pools[signature.result_pool][row : row + last - first] = kernel(last - first, *operands)
        for position in signature.large_operands:
            for word in columns[position].tolist():
                self._release(word)
        return True

    def compute_one_by_one(self, signature: Signature, first: int, last: int) -> None:
        """Compute these firings; those with the same operands once. Large results are computed when they are needed."""
        if signature.result_pool == NO_POOL:
            self._defer(signature, first, last)
            return
        values_by_key = dict[tuple[int, ...], Value]()
        pool = self._pools[signature.result_pool]
        columns = (column[first:last].tolist() for column in (self._nodes, self._results, self._operands))
        for node, result, words in zip(*columns, strict=True):
            key = tuple(words[: len(signature.operands)])
            if key not in values_by_key:
                values_by_key[key] = self._compute_alone(node, signature, key)
            pool[self._rows[result]] = values_by_key[key]
            self._release_operands(signature, key)

    def _compute_alone(self, node: int, signature: Signature, words: tuple[int, ...]) -> Value:
        inputs = tuple(map(self._value, words, signature.operands, signature.pools))
        return compute_alone(self._rules[node], inputs)

    def _defer(self, signature: Signature, first: int, last: int) -> None:
        columns = (column[first:last].tolist() for column in (self._nodes, self._results, self._operands))
        for node, result, words in zip(*columns, strict=True):
            operands = words[: len(signature.operands)]
            for position in signature.large_operands:
                operands[position] = self._large_number(operands[position])
            key = (signature, *operands)
            number = self._number_by_firing.setdefault(key, result)
            if self._remaining[result]:
                self._needed_numbers.add(number)
            if number == result:
                self._pending[result] = node, signature, tuple(operands)
                continue
            self._equal_numbers[result] = number
            self._uses[number] = self._uses.get(number, 0) + self._uses.pop(result, 0)
            self._release_operands(signature, operands)

    def _compute_pending(self, number: int) -> None:
        """Compute a large array, and first those that it needs."""
        stack = [number]
        while stack:
            number = stack[-1]
            if number not in self._pending:
                stack.pop()
                continue
            node, signature, words = self._pending[number]
            lacking = [words[position] for position in signature.large_operands if words[position] in self._pending]
            if lacking:
                stack += lacking
                continue
            self._large[number] = self._compute_alone(node, signature, words)
            del self._pending[number]
            self._release_operands(signature, words)

    def _release_operands(self, signature: Signature, words: Sequence[int]) -> None:
        for position in signature.large_operands:
            self._release(words[position])

    def _release(self, word: int) -> None:
        """Note that a firing does not need a large array any more; drops it after the last one."""
        number = self._large_number(word)
        if number in self._uses:
            self._uses[number] -= 1
            if not self._uses[number] and number not in self._needed_numbers:
                self._large.pop(number, None)

    def results(self, check_limits: Callable[[], None]) -> dict[int, Value]:
        """The values of the results that tokens refer to."""
        values = dict[int, Value]()
        are_used = self._remaining[self._results] > 0
        for number in self._results[are_used & (self._result_pools == NO_POOL)].tolist():
            check_limits()
            equal = self._large_number(number)
            if equal in self._pending:
                self._compute_pending(equal)
            values[number] = self._large[equal]
        for pool, array in enumerate(self._pools):
            numbers = self._results[are_used & (self._result_pools == pool)]
            for first in range(0, len(numbers), VALUES_PER_ARRAY):
                part = numbers[first : first + VALUES_PER_ARRAY]
                copy = array[self._rows[part]]
                copy.setflags(False)
                values.update(zip(part.tolist(), copy, strict=True))
        return values
