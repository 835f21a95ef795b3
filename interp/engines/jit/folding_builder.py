"""A builder of LLVM's instructions that emits few of them.

numba passes arrays and tuples as aggregates, and its emitters build, take apart and copy whole aggregates, most of
whose fields nobody uses: two thirds of the instructions of a training step. LLVM removes them, but writing, reading and
removing them takes longer than all other passes. `FoldingBuilder` finds a field of an aggregate among the values from
which it was built, and `remove_unused` drops the instructions whose results are not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from llvmlite import ir
from llvmlite.ir import instructions

_PURE = (
    instructions.InsertValue,
    instructions.ExtractValue,
    instructions.GEPInstr,
    instructions.CastInstr,
    instructions.CompareInstr,
    instructions.SelectInstr,
    instructions.PhiInstr,
)
"""The kinds of instructions that only compute their result."""
_PURE_OPERATIONS = {"add", "sub", "mul", "and", "or", "xor", "fadd", "fsub", "fmul", "fdiv", "fneg"}
"""The names of arithmetic operations that only compute their result."""


class FoldingBuilder(ir.IRBuilder):  # type: ignore[misc]
    """A builder whose `extract_value` returns the value that was inserted, if there is one."""

    def __init__(self, block: Any) -> None:
        super().__init__(block)
        self._fields: dict[tuple[int, int, tuple[int, ...]], Any] = {}
        """The fields that were extracted, by the identities of block and aggregate, and by the indices."""

    def extract_value(self, aggregate: Any, indices: Any, name: str = "") -> Any:
        path = tuple(indices) if isinstance(indices, tuple | list) else (indices,)
        while True:
            if isinstance(aggregate, instructions.InsertValue):
                inserted_path = tuple(aggregate.indices)
                shared = min(len(path), len(inserted_path))
                if path[:shared] != inserted_path[:shared]:
                    aggregate = aggregate.aggregate
                    continue
                if len(path) < len(inserted_path):
                    break  # a part of the field was inserted later
                aggregate, path = aggregate.value, path[shared:]
            elif isinstance(aggregate, ir.Constant) and path:
                if isinstance(aggregate.constant, list | tuple):
                    aggregate, path = aggregate.constant[path[0]], path[1:]
                elif aggregate.constant is None or aggregate.constant is ir.Undefined:
                    aggregate, path = ir.Constant(aggregate.type.elements[path[0]], aggregate.constant), path[1:]
                else:
                    break
            else:
                break
            if not path:
                return aggregate
        key = id(self.block), id(aggregate), path
        if key not in self._fields:
            self._fields[key] = super().extract_value(aggregate, path, name)
        return self._fields[key]

    def gep(self, pointer: Any, indices: Any, *arguments: Any, **options: Any) -> Any:
        if len(indices) == 1 and isinstance(indices[0], ir.Constant) and indices[0].constant == 0:
            return pointer
        return super().gep(pointer, indices, *arguments, **options)

    def add(self, left: Any, right: Any, *arguments: Any, **options: Any) -> Any:
        if isinstance(left, ir.Constant) and isinstance(right, ir.Constant):
            return ir.Constant(left.type, left.constant + right.constant)
        return super().add(left, right, *arguments, **options)


def remove_unused(function: Any) -> None:
    """Remove the instructions of a function that only compute results that nobody uses."""
    uses: dict[int, int] = {}
    for block in function.blocks:
        for instruction in block.instructions:
            for operand in _operands(instruction):
                uses[id(operand)] = uses.get(id(operand), 0) + 1
    unused = [
        instruction
        for block in function.blocks
        for instruction in block.instructions
        if id(instruction) not in uses and _is_pure(instruction)
    ]
    removed = set[int]()
    while unused:
        instruction = unused.pop()
        removed.add(id(instruction))
        for operand in _operands(instruction):
            uses[id(operand)] -= 1
            if not uses[id(operand)] and isinstance(operand, ir.Instruction) and _is_pure(operand):
                unused.append(operand)
    for block in function.blocks:
        block.instructions[:] = [instruction for instruction in block.instructions if id(instruction) not in removed]


def _operands(instruction: Any) -> Iterable[Any]:
    """The values that an instruction uses."""
    if isinstance(instruction, instructions.PhiInstr):
        return [value for value, _ in instruction.incomings]
    operands: Sequence[Any] = instruction.operands
    return operands


def _is_pure(instruction: Any) -> bool:
    if isinstance(instruction, instructions.LoadInstr):
        return type(instruction) is instructions.LoadInstr and not instruction.metadata
    return isinstance(instruction, _PURE) or instruction.opname in _PURE_OPERATIONS
