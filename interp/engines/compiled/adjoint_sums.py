"""Sums of adjoints, made in place. What a weight contributes is added up activation by activation: each makes a product
of matrices, and adds it to what came from below. Where nobody else has what came, the product is added to it where it
lies; and where that is nothing but zeros, these are not written before.

Every sum has the bits that it has elsewhere: an element of a product is added up from 0, and then added to the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Protocol

from ....core.dtypes import DType
from ....core.ops.axes import axes_of
from ....core.ops.op import MOST_ELEMENTS, OPS
from ....core.program.program import Node, Operand, Region
from ....core.types import Type
from ....core.value import Literal
from ..jit.state import FEW, LARGE, PLUS
from . import elementwise as arrays
from .elementwise import Turned, Value, empty
from .facts import Fact, Known
from .layout import element, numpy

_LEAST = 512
"""How many elements are worth it."""
_TILE_ROWS, _TILE_BYTES, _MOST = 8, 128, 2**26
"""What divides the rows and the bytes of a row of a product that is added to an array, and how many multiplications it
has at most: then all tiles are whole (jit.matrices)."""
_FILLED = ("scatter_add", "scatter_index")
"""Ops that write into their first operand, where nobody else has it."""
_FRESH = (
    *("matmul", "permute_dims", "concat", "broadcast_to", "broadcast_like", "sum_like", "sum", "max", "min"),
    *_FILLED,
)
"""Ops besides those element by element whose arrays are nobody else's, and that keep no operand."""
_SAME = ("identity", "stop_gradient", "breakpoint")


def is_fresh(op: str) -> bool:
    """Whether the array that an op makes is nobody else's, and it keeps no operand."""
    return op in _FRESH or (op in OPS and OPS[op].scalar is not None and op not in _SAME)


class Writer(arrays.Writer, Protocol):
    known: Known

    def solid(self, text: str) -> str: ...


@dataclass(frozen=True, slots=True)
class Plan:
    """What is done with the nodes of a region otherwise than one after another."""

    sums: frozenset[str]
    zeros: frozenset[str]
    """Nodes that make nothing but zeros."""
    products: Mapping[str, Node]
    """By the name of a sum, the product that is added to its other operand."""
    turned: frozenset[str]
    """Transpositions that products make themselves."""
    at: Mapping[str, int]
    """The numbers of nodes, by their names."""
    last: Mapping[str, int]
    """The number of the last node that uses a value; -1 where none does."""

    @property
    def apart(self) -> frozenset[str]:
        return self.sums | self.zeros

    @property
    def skipped(self) -> frozenset[str]:
        return self.turned | {node.name for node in self.products.values()}

    def is_spent(self, operand: Operand, node: Node) -> bool:
        """Whether a node uses a value once, and nobody uses it after that."""
        return (
            isinstance(operand, str)
            and self.last.get(operand) == self.at[node.name]
            and node.inputs.count(operand) == 1
        )

    def spent(self, node: Node, value: Callable[[Operand], Value]) -> set[str]:
        """The operands of a node that are spent there."""
        return {value(each).text for each in node.inputs if self.is_spent(each, node)}


class _Uses:
    """Who makes and uses the values of a region."""

    def __init__(self, region: Region) -> None:
        self.region, self.nodes = region, region.nodes
        self.made = {var.name: node for node in region.nodes for var in node.results}
        self.types = {var.name: var.type for var in region.parameters}
        self.types |= {var.name: var.type for node in region.nodes for var in node.results}
        self.of: dict[str, list[int]] = {name: [] for name in self.types}
        for at, node in enumerate(region.nodes):
            for each in (each for each in node.inputs if isinstance(each, str)):
                self.of[each].append(at)
        for each in (each for each in region.results if isinstance(each, str)):
            self.of[each].append(len(region.nodes))
        self.links = _links(self)

    def users(self, name: str) -> list[Node]:
        return [self.nodes[at] for at in self.of[name] if at < len(self.nodes)]

    def type(self, operand: Operand) -> Type:
        return operand.type if isinstance(operand, Literal) else self.types[operand]


def plan(region: Region) -> Plan:
    """What is to be done with a region that sees nothing else."""
    uses, sums, zeros, turned = _Uses(region), set[str](), set[str](), set[str]()
    for node in reversed(region.nodes):
        if _is_sum(uses, node, sums):
            sums.add(node.name)
    for node in region.nodes:
        if _is_zeros(uses, node, sums):
            zeros.add(node.name)
        elif _is_turned(uses, node, turned):
            turned.add(node.name)
    products = {node.name: found for node in region.nodes if node.name in sums and (found := _product(uses, node))}
    last = {each: max(found, default=-1) for each, found in uses.of.items()}
    for node in products.values():
        for each in (each for each in node.inputs if isinstance(each, str)):
            last[each] = max(last[each], last[node.name])
    for name in turned:
        (of,) = uses.made[name].inputs
        if isinstance(of, str):
            last[of] = max(last[of], last[name])
    at = {node.name: number for number, node in enumerate(region.nodes)}
    return Plan(frozenset(sums), frozenset(zeros), products, frozenset(turned), at, last)


def _count(type_: Type) -> int | None:
    """How many elements an array has, where that is known."""
    shape = [-1 if size is None else size for size in type_.shape or ()]
    return None if type_.is_scalar or -1 in shape else math.prod(shape)


def _is_sum(uses: _Uses, node: Node, later: set[str]) -> bool:
    """Whether a node adds arrays that are made one by one, and is part of no other loop over elements."""
    if node.op != "add" or len({each for each in node.inputs if isinstance(each, str)}) != 2:
        return False
    made = node.results[0].type
    count = _count(made)
    if count is None or not _LEAST <= count < LARGE or made.dtype.kind != "f":
        return False
    alike = all(uses.type(each) == made and each not in uses.links for each in node.inputs)
    return alike and all(user.name in later for user in uses.users(node.name))


def _links(uses: _Uses) -> set[str]:
    """The values of ops element by element, but for sums of what is not the value of one."""
    found = set[str]()
    for node in uses.nodes:
        is_by_elements = node.op in OPS and OPS[node.op].scalar is not None
        is_sum = node.op == "add" and _count(node.results[0].type) is not None
        if is_by_elements and (not is_sum or any(each in found for each in node.inputs)):
            found.add(node.name)
    return found


def _is_zeros(uses: _Uses, node: Node, sums: set[str]) -> bool:
    """Whether a node makes zeros for those who know what to do with zeros."""
    if len(node.results) != 1:
        return False
    made = node.results[0].type
    if node.op == "multiply_no_nan" and _is_zero(node.inputs[1]) and _fits(made) and uses.type(node.inputs[0]) == made:
        return all(user.op in _FILLED or user.name in sums for user in uses.users(node.name))
    return node.op in ("broadcast_to", "broadcast_like") and _is_zero(node.inputs[0]) and _fits(made)


def _fits(type_: Type) -> bool:
    """Whether it is known that an array has elements, and not too many."""
    return 0 < (_count(type_) or 0) <= MOST_ELEMENTS


def _is_zero(operand: Operand) -> bool:
    """Whether an operand is 0.0, and not -0.0."""
    if not isinstance(operand, Literal) or not operand.type.is_scalar or operand.type.dtype.kind != "f":
        return False
    value = float(operand.value)  # type: ignore[arg-type]
    return value == 0.0 and math.copysign(1.0, value) > 0.0


def _is_turned(uses: _Uses, node: Node, others: set[str]) -> bool:
    if node.op != "permute_dims" or len(node.results[0].type.shape or ()) != 2:
        return False
    axes = node.attribute("axes")
    if tuple(axes_of(axes if isinstance(axes, tuple) else (axes,), uses.type(node.inputs[0]))) != (1, 0):
        return False
    users = uses.users(node.name)
    return len(users) == len(uses.of[node.name]) and all(_takes(uses, user, node.name, others) for user in users)


def _takes(uses: _Uses, node: Node, name: str, others: set[str]) -> bool:
    """Whether a node is a product that takes a matrix of this name with its rows as columns: as the left factor, or as
    the right one where the left has few rows."""
    if not _is_plain(uses, node) or node.inputs[0] == node.inputs[1] or any(each in others for each in node.inputs):
        return False
    if any(_count(uses.type(each)) is None for each in node.inputs):
        return False
    rows = (uses.type(node.inputs[0]).shape or (None,))[0]
    return node.inputs[0] == name or (rows is not None and rows < FEW)


def _is_plain(uses: _Uses, node: Node) -> bool:
    """Whether a node is a product of two matrices of floats, of one dtype."""
    if node.op != "matmul":
        return False
    types = [uses.type(each) for each in node.inputs]
    dtype = node.results[0].type.dtype
    return dtype.kind == "f" and all(each.dtype is dtype and len(each.shape or ()) == 2 for each in types)


def _product(uses: _Uses, sum_: Node) -> Node | None:
    """The product that is added to the other operand of a sum, which it does not read, if it is used nowhere else, has
    whole tiles, and types know that its factors fit: nobody asks."""
    for each in reversed(sum_.inputs):
        node = uses.made.get(str(each))
        if node is None or not _is_plain(uses, node) or len(uses.of[str(each)]) != 1:
            continue
        if _read_by(uses, node) & {*sum_.inputs} or any(_count(uses.type(factor)) is None for factor in node.inputs):
            continue
        rows, columns = node.results[0].type.shape or (0, 0)
        inner = (uses.type(node.inputs[0]).shape or (0, 0))[1]
        if rows and columns and inner and _is_whole(rows, inner, columns, node.results[0].type.dtype):
            return node
    return None


def _read_by(uses: _Uses, product: Node) -> set[Operand]:
    """Whose elements a product reads, transposed or not."""
    made = [uses.made.get(str(each)) for each in product.inputs]
    return {*product.inputs, *(each for node in made if node and node.op == "permute_dims" for each in node.inputs)}


def _is_whole(rows: int, inner: int, columns: int, dtype: DType) -> bool:
    width = dtype.numpy.itemsize
    return rows % _TILE_ROWS == 0 and columns * width % _TILE_BYTES == 0 and rows * inner * columns < _MOST


def apart(
    writer: Writer, plan: Plan, node: Node, value: Callable[[Operand], Value], there: Callable[[Operand], Value]
) -> str:
    """Write a node that stands apart; `there` gives a value of which no zeros are unwritten."""
    if node.name in plan.zeros:
        return _zeros(writer, node)
    product = plan.products.get(node.name)
    if product is None:
        a, b = (value(each).text for each in node.inputs)
        return _sum(writer, node, a, b, plan.spent(node, value))
    (name,) = (each for each in node.inputs if each != product.name)
    factors, is_spent = list(map(there, product.inputs)), plan.is_spent(name, node)
    return _added(writer, product, factors, value(name), is_spent=is_spent)


def _zeros(writer: Writer, node: Node) -> str:
    """Zeros that are not written."""
    type_ = node.results[0].type
    text = writer.made_of(f"e.blank(({', '.join(map(str, type_.shape or ()))},), {numpy(element(type_.dtype))})")
    writer.known.add(text, Fact(own=True, clean=True, blank=True))
    return text


def _sum(writer: Writer, node: Node, a: str, b: str, spent: set[str]) -> str:
    """A sum; `spent` are those of its operands that nobody uses any more."""
    known, type_, pairs = writer.known, node.results[0].type, ((a, b), (b, a))
    for one, other in pairs:
        if one in known.blank and other not in known.clean:
            writer.solid(one)
    mine, made, head = known.own & spent, writer.fresh(), "if"
    handed = {other for one, other in pairs if one in known.blank}  # one of which may be the sum
    for one, other in pairs:
        if one in known.blank:
            writer.line(f"{head} e.is_blank({one}): {made} = {other}")
            head = "elif"
    with writer.inside("else:") if handed else nullcontext():
        writer.line(f"{made} = {_plus(writer, type_, a, b, mine)}")
    known.share(handed - mine)
    known.add(made, Fact(handed <= mine, bool({a, b} & known.clean), {a, b} <= known.blank))
    return made


def _plus(writer: Writer, type_: Type, a: str, b: str, mine: set[str]) -> str:
    """The sum of two arrays that are there; where one is nobody else's, it is made there."""
    sizes = [str(size) for size in type_.shape or ()]
    into = a if a in mine else b if b in mine else empty(writer, sizes, type_)
    words = [f"w.address({into})", f"w.address({a})", str(type_.dtype.numpy.itemsize), f"w.address({b})"]
    writer.line(f"moves({', '.join([str(PLUS), *words, str(_count(type_)), *['0'] * 10])})")
    for text in dict.fromkeys((into, a, b)):
        writer.line(f"w.keep({text})")
    return into


def _added(writer: Writer, product: Node, factors: Sequence[Value], to: Value, *, is_spent: bool) -> str:
    """A product of matrices that is added to an array."""
    known, type_ = writer.known, product.results[0].type
    rows, columns = type_.shape or (0, 0)
    fact = Fact(own=True, clean=to.text in known.clean)
    if not is_spent or to.text not in known.own:
        made = empty(writer, [str(rows), str(columns)], type_)
        width, count = type_.dtype.numpy.itemsize, rows * columns  # type: ignore[operator]
        writer.solid(to.text)
        words = [f"w.address({made})", f"w.address({to.text})", str(width), "1", "1", "1", str(count)]
        writer.line(f"moves({', '.join(['0', *words, '0', '0', '0', '1', '0', '0', '0', '1'])})")
        writer.line(f"w.keep({to.text})")
        how = "1"
    elif to.text in known.blank:
        how = writer.made_of(f"2 if e.is_blank({to.text}) else 1")
        made = writer.made_of(f"e.room({to.text})")
    else:
        made, how = to.text, "1"
    x, y = factors
    name = element(type_.dtype)
    is_turned = "1" if isinstance(x, Turned) else "0"
    writer.line(f"added_{name}(s, {made}, {x.text}, {y.text}, {is_turned}, {how})")
    known.add(made, fact)
    return made
