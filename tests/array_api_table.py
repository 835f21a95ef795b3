"""The tables of docs/ops.md: rows of the registry, and the results of the judge of the standard, group by group.

python tests/array_api_table.py        writes them into the page
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import tagloom as tl
from support.generators.generator import ARRAYS, signatures
from support.laws.array_api import GROUPS, LEFT_OUT, agrees, calls
from tagloom.core.frontend.eager.apply import apply
from tagloom.core.frontend.trace.annotation import FunctionSpec
from tagloom.core.frontend.trace.program_builder import ProgramBuilder
from tagloom.core.frontend.trace.pytree import leaf_type
from tagloom.core.frontend.trace.symbol import Symbol
from tagloom.core.ops.op import OPS, Attributes, Op
from tagloom.core.types import Type
from tagloom.interp.engines.compiled.codegen import emit_module
from tagloom.interp.engines.compiled.fusion import FusedChain, is_ufunc_node, plan_fusion
from tagloom.interp.engines.cuda.wave import unsupported_nodes as cuda_lacks
from tagloom.interp.image.image import NodeColumn, build_image
from tagloom.interp.image.opcodes import Opcode

PAGE = Path(__file__).resolve().parents[1] / "docs" / "ops.md"
BY_ELEMENTS = [row.name for row in OPS.values() if row.scalar is not None]


def judged() -> Iterator[str]:
    """The judge's results, one row for each group."""
    yield "| group | functions | calls | alike |"
    yield "|---|---|---|---|"
    for group, functions in GROUPS.items():
        results = [agrees(call) for call in calls() if call.group == group]
        yield f"| {group} | {' '.join(f'`{name}`' for name in functions)} | {len(results)} | {sum(results)} |"


def missing() -> Iterator[str]:
    """The functions of the standard that are missing."""
    for name, reason in LEFT_OUT.items():
        if not hasattr(tl, name):
            yield f"- `{name}`: {reason}"


def rows() -> Iterator[str]:
    """The rows of ops that are not elementwise."""
    yield "| op | operands | attributes | meaning |"
    yield "|---|---|---|---|"
    for row in OPS.values():
        if row.scalar is None:
            attributes = " ".join(
                f"`{name}` (optional)" if name in row.optional_attributes else f"`{name}`" for name in row.attributes
            )
            yield f"| `{row.name}` | {_operands(row)} | {attributes} | {_meaning(row)} |"


def _operands(row: Op) -> str:
    return "any number" if row.arity is None else str(row.arity)


def _meaning(row: Op) -> str:
    """The first paragraph of the row's documentation."""
    return " ".join(row.doc.split(">>>")[0].split()).replace("|", "\\|")


def engines() -> Iterator[str]:
    """For each op, which engine computes it how, by the image and the plans of `compiled`."""
    yield "| ops | on | `fast` | `cuda` | `compiled` |"
    yield "|---|---|---|---|---|"
    results: dict[tuple[str, ...], list[str]] = {}
    for op, every in signatures(ARRAYS, arrays=True).items():
        sample = {all(type_.is_scalar for type_ in types): (types, given) for types, given in every[::-1]}
        for is_scalars, (types, given) in sorted(sample.items(), reverse=True):
            results.setdefault(("numbers" if is_scalars else "arrays", *_ways(op, types, given)), []).append(op)
    for ways, ops in results.items():
        yield f"| {' '.join(f'`{op}`' for op in ops)} | {' | '.join(ways)} |"


def _ways(op: str, types: Sequence[Type], given: Attributes) -> tuple[str, str, str]:
    leaves = tuple(map(leaf_type, types))
    parameters = tuple(zip(("x", "y", "z", "w"), leaves, strict=False))
    source = FunctionSpec(
        lambda *values: apply(op, *values, **dict(given)),
        parameters,
        leaf_type(OPS[op].type_rule(*types, **dict(given))),
    )
    program, _ = ProgramBuilder(Symbol).build_program(source, leaves)
    image, (node,) = build_image(tl.lower(program)), program.main.body.nodes
    number = next(number for number, each in enumerate(image.graph.nodes) if each.op == op)
    is_left = image.nodes[number, NodeColumn.CODE] == Opcode.FALLBACK
    on_device = next(cuda_lacks(image), None) is None
    if any("m.call_host(" in line for line in emit_module(program).lines):
        compiled = "Python calls NumPy"
    elif is_ufunc_node(node) and not node.results[0].type.is_scalar:
        compiled = "NumPy's loop, in blocks of a chain"
    else:
        is_chained = any(isinstance(part, FusedChain) for part in plan_fusion(program.main.body))
        compiled = "machine code, one loop for a chain" if is_chained else "machine code"
    return "the reference's rule" if is_left else "in its loop", "yes" if on_device else "no", compiled


TABLES = {"engines": engines, "rows": rows, "judged": judged, "missing": missing}


def with_tables(page: str) -> str:
    """The page with its current tables, each between two comments."""
    for name, lines in TABLES.items():
        before, _, rest = page.partition(f"<!-- {name} -->\n")
        _, _, after = rest.partition("<!-- end -->")
        page = f"{before}<!-- {name} -->\n" + "\n".join(["", *lines(), ""]) + f"\n<!-- end -->{after}"
    return page


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.exit()
