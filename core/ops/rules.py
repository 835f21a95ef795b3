"""Type rules that families share: what an op asks of its operands' types, and the type it makes."""

from __future__ import annotations

from .. import dtypes
from ..dtypes import DType
from ..errors import Invalid
from ..op import TypeRule
from ..types import Type, join_shapes

_KINDS = {"b": "bool", "i": "int64", "f": "float64"}


def elementwise(kinds: str, result: DType | None = None) -> TypeRule:
    """Operands of one dtype, of one of these kinds, broadcast; the result has that dtype, or `result`."""

    def rule(*operands: Type) -> Type:
        dtype = common_dtype(operands)
        if dtype.kind not in kinds:
            raise Invalid(
                "operands of the wrong kind",
                required=" or ".join(_KINDS[kind] for kind in kinds),
                got=", ".join(map(str, operands)),
                hint=_convert_hint(dtype, kinds),
            )
        return Type(result or dtype, join_shapes([operand.shape for operand in operands]))

    return rule


def common_dtype(operands: tuple[Type, ...]) -> DType:
    """The one dtype of these operands. Kinds do not mix by themselves: the Array API leaves that undefined."""
    found = {operand.dtype for operand in operands}
    if len(found) > 1:
        raise Invalid(
            "operands of different dtypes",
            required="one dtype",
            got=", ".join(map(str, operands)),
            hint="convert one with tl.astype(x, dtype)",
        )
    return operands[0].dtype


def _convert_hint(dtype: DType, kinds: str) -> str:
    if dtype.kind == "i" and "f" in kinds:
        return "convert with tl.astype(x, tl.float64); for integer division write x // y"
    if dtype is dtypes.bool:
        return f"convert with tl.astype(x, tl.{'int64' if 'i' in kinds else 'float64'})"
    return "compare first, or convert with tl.astype"
