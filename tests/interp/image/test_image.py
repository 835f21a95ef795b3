"""The image of a graph: each op has an opcode, words have one owner, values are decoded from words, and the printed
form names everything."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tagloom as tl
from hypothesis import Phase, given, settings
from support.generators.array_rows import arities, attributes
from support.generators.edges import EDGES
from support.generators.effect_programs import act_cases
from support.generators.generator import Case, cases
from tagloom.core import dtypes
from tagloom.core.errors import Invalid
from tagloom.core.graph.graph import Graph, GraphNode, NodeOutput
from tagloom.core.graph.lower import lower
from tagloom.core.graph.validate import graph_problems
from tagloom.core.ops.effects import EFFECT_OPS
from tagloom.core.ops.op import OPS, Op
from tagloom.core.ops.routing import ROUTING_OPS
from tagloom.core.program.program import Program
from tagloom.core.text import parse
from tagloom.core.types import Type
from tagloom.core.value import fingerprint
from tagloom.interp.image.image import (
    IMAGE_VERSION,
    SCRATCH_WORD,
    Image,
    NodeColumn,
    PortColumn,
    ScopeColumn,
    build_image,
    decode_word,
    encode_word,
    is_boxed,
)
from tagloom.interp.image.opcodes import (
    CAST_DTYPES,
    FIRST_KERNEL,
    Opcode,
    cast_code,
    opcode_of,
    scalar_kernels,
    wide_dtype,
)
from tagloom.interp.image.print_image import format_image

CORPUS = Path(__file__).parents[2] / "corpus"
ONE_OF_EACH_KIND = (dtypes.bool, dtypes.int64, dtypes.uint8, dtypes.float64)
SOME = ("fibonacci", "loop_of_calls", "cells_wavefront", "bounded_loop", "graph_two_loops", "array_recursion")


def graphs(*names: str) -> Iterator[Graph]:
    """The graphs of corpus files that follow the rules."""
    for name in names:
        document = parse((CORPUS / f"{name}.tl").read_text(encoding="utf-8"), f"{name}.tl")
        for called in dict.fromkeys(case.name for case in document.cases):
            subject = document[called]
            graph = lower(subject) if isinstance(subject, Program) else subject
            if not graph_problems(graph):
                yield graph


def scalar_forms(row: Op) -> Iterator[tuple[list[Type], Type, tuple[tuple[str, dtypes.DType], ...]]]:
    """The operand types, result type and attributes of an op, on scalars of every accepted combination of dtypes; of
    one dtype of each kind, if there are more than three operands."""
    for given_ in attributes(row):
        every = (
            itertools.product(map(Type, dtypes.ALL if arity <= 3 else ONE_OF_EACH_KIND), repeat=arity)
            for arity in arities(row, given_)
        )
        for operands in itertools.chain(*every):
            try:
                result = row.type_rule(*operands, **dict(given_))
            except Invalid:
                continue
            yield list(operands), result, given_


@pytest.mark.inner(first=30)
@pytest.mark.parametrize("name", OPS)
def test_every_op_has_an_opcode(name: str) -> None:
    """On scalars of every accepted dtype, an op is an arm on operands of wide dtypes, or passes its operand on. An op
    without a kernel for scalars, or with an array as its result, leaves the loop; so does bitcast of a float of 16
    bits."""
    for types, result, given_ in scalar_forms(OPS[name]):
        node = GraphNode("n", name, (None,) * len(types), (NodeOutput(result, ()),), "f", attributes=given_)
        code = opcode_of(node, types, False)
        if code == Opcode.FALLBACK:
            reads_bits = name == "bitcast" and types[0].dtype in dtypes.FLOAT_FORMATS
            assert OPS[name].scalar is None or not result.is_scalar or reads_bits, (types, result)
        elif code == Opcode.PASS:
            assert name in ("identity", "stop_gradient", "astype", "bitcast")
        else:
            arm = scalar_kernels()[code - FIRST_KERNEL]
            assert arm.op == name and wide_dtype(arm.result) is wide_dtype(result.dtype)
            assert all(wide_dtype(dtype) is dtype for dtype in arm.operands)


def test_routing_and_effect_ops() -> None:
    """Ops that route tokens have opcodes of their own; ops on cells, effects and random draws leave the loop."""
    types = [Type(dtypes.int64), Type(dtypes.bool)]
    codes = {
        name: Opcode(opcode_of(GraphNode("n", name, (None, None), (NodeOutput(types[0], ()),), "f"), types, False)).name
        for name in {**ROUTING_OPS, **EFFECT_OPS}
    }
    passing = {"merge": "PASS", "breakpoint": "PASS", "enter": "CALL", "next_iteration": "NEXT_ITERATION"}
    alike = {name: name.upper() for name in ("switch", "call", "return", "exit", "reenter", "back")}
    assert codes == {**dict.fromkeys(EFFECT_OPS, "FALLBACK"), **passing, **alike}


def test_narrow_dtypes_have_casts() -> None:
    """Exactly the dtypes that are narrower than the one they are computed in have a cast."""
    narrow = [dtype for dtype in dtypes.ALL if dtype.kind != "b" and dtype.bits < 64]
    assert sorted(map(repr, CAST_DTYPES[1:])) == sorted(map(repr, narrow))
    assert all(cast_code(dtype) == (CAST_DTYPES.index(dtype) if dtype in narrow else 0) for dtype in dtypes.ALL)


def owners(made: Image, scope: int) -> Iterator[tuple[int, int, str]]:
    """The owner of each word and bit of a frame."""
    for word in range(made.header_words):
        yield word, -1, "header"
    places = {}
    for number in made.scope_members[scope].tolist():
        row, node = made.nodes[number], made.graph.nodes[number]
        yield int(row[NodeColumn.MASK_WORD]), int(row[NodeColumn.OPERAND_MASK] | row[NodeColumn.FIRED_BIT]), str(node)
        if row[NodeColumn.CHILD_WORD]:
            places[int(row[NodeColumn.CHILD_WORD])] = str(node.site)
        first = made.first_port[number]
        for word in {
            int(port[PortColumn.OPERAND_WORD])
            for port in made.ports[first : first + len(node.ports)]
            if port[PortColumn.BIT]
        }:
            yield word, -1, f"operands of {node}"
    for word, site in places.items():
        yield word, -1, f"the activation at {site}"


def check_frames(made: Image) -> None:
    """Each bit of a frame has one owner, all lie within it, and those that must begin at 0 are cleared."""
    for scope, row in enumerate(made.scopes):
        taken: dict[int, int] = {}
        for word, bits, owner in owners(made, scope):
            assert 0 <= word < row[ScopeColumn.SIZE], owner
            assert not taken.get(word, 0) & bits, f"{owner} shares word {word} of {made.scope_list[scope]}"
            assert (word >= row[ScopeColumn.CLEAR_END]) == owner.startswith("operands"), owner
            taken[word] = taken.get(word, 0) | bits
    assert sorted(itertools.chain(*(members.tolist() for members in made.scope_members))) == list(
        range(len(made.nodes))
    )


def check_operands(made: Image) -> None:
    """Whichever token comes last, each operand is that token, a literal, or lies where it waits."""
    for number, node in enumerate(made.graph.nodes):
        first, waiting = made.first_port[number], [port for port, literal in enumerate(node.ports) if literal is None]
        if node.op == "merge":
            assert all(
                row[PortColumn.OPERAND_0] == ~SCRATCH_WORD for row in made.ports[first : first + len(node.ports)]
            )
            continue
        for last in waiting:
            row = made.ports[first + last]
            assert row[PortColumn.NODE] == number
            for port, place in list(
                enumerate(row[[PortColumn.OPERAND_0, PortColumn.OPERAND_1, PortColumn.OPERAND_2]].tolist())
            )[: len(node.ports)]:
                literal = node.ports[port]
                if literal is None:
                    assert place == (
                        ~SCRATCH_WORD if port == last else made.ports[first + port, PortColumn.OPERAND_WORD]
                    )
                    continue
                word, type_ = int(made.literals[~place]), made.port_types[first + port]
                actual = made.objects[word] if is_boxed(type_) else decode_word(word, type_.dtype)
                assert fingerprint(actual) == fingerprint(literal.value)


def check_edges(made: Image) -> None:
    """The edges of each output are the graph's, in order. By site, these are all but the returns of other sites
    (S10)."""
    graph = made.graph
    for number, node in enumerate(graph.nodes):
        row = made.nodes[number]
        if row[NodeColumn.CODE] == Opcode.RESULT:
            continue
        bounds = (
            (NodeColumn.EDGES_BEGIN, NodeColumn.SECOND_EDGES_BEGIN, NodeColumn.ROUTE),
            (NodeColumn.SECOND_EDGES_BEGIN, NodeColumn.EDGES_END, NodeColumn.ROUTE_SECOND),
        )
        for output, (begin, end, route) in zip(node.outputs, bounds, strict=False):
            expected = [(made.first_port[edge.node] + edge.port, graph.nodes[edge.node]) for edge in output.edges]
            if row[route] < 0:
                assert made.edges[row[begin] : row[end]].tolist() == [port for port, _ in expected]
            for position, site in enumerate(made.site_list if row[route] >= 0 else ()):
                one, other = made.routes[row[route] + position]
                kept = [port for port, of in expected if of.op != "return" or of.site == site]
                assert made.edges[one:other].tolist() == kept


def check(graph: Graph) -> None:
    image = build_image(graph)
    check_frames(image)
    check_operands(image)
    check_edges(image)


@settings(max_examples=20, phases=[Phase.generate])
@given(cases() | act_cases())
def test_images_of_generated_programs(case: Case) -> None:
    """Frames, operands and edges are right in images of generated programs."""
    check(lower(case.program))


@pytest.mark.parametrize("name", SOME)
def test_images_of_the_corpus(name: str) -> None:
    """Frames, operands and edges are right in images of the corpus, with its graphs written by hand."""
    for graph in graphs(name):
        check(graph)


@pytest.mark.heavy
def test_images_of_the_whole_corpus() -> None:
    """Images of the whole corpus are right, and all can be printed."""
    for graph in graphs(*(path.stem for path in CORPUS.glob("*.tl") if not path.stem.startswith("refused"))):
        check(graph)
        assert format_image(build_image(graph))


def test_fan_is_the_most_tokens_of_one_firing() -> None:
    """A function that is called from many sites sends its result to one of them at a time."""

    @tl.function
    def one(n: tl.int64) -> tl.int64:
        return n + 1

    @tl.function
    def many(n: tl.int64) -> tl.int64:
        for _ in range(50):
            n = one(n)
        return n

    image = build_image(many.graph)
    assert len(image.site_list) == 51 and image.max_fanout == 1


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=repr)
def test_scalars_survive_a_round_trip(dtype: dtypes.DType) -> None:
    """A scalar is stored as a word and read back with its type and every bit."""
    for value in EDGES[dtype]:
        word = encode_word(value, dtype)
        assert -(2**63) <= word < 2**63
        assert fingerprint(decode_word(word, dtype)) == fingerprint(value)


def test_nans_survive_a_round_trip() -> None:
    """The bits of a NaN are kept, with its sign."""
    for bits in (0x7FF8000000000001, 0xFFF8000000000000, 0x7FFABCDEF0123456):
        value = struct.unpack("<d", struct.pack("<Q", bits))[0]
        assert struct.pack("<d", decode_word(encode_word(value, dtypes.float64), dtypes.float64)) == struct.pack(
            "<Q", bits
        )
    for narrow in (0x7FC00001, 0xFFC00000):
        value = np.array([narrow], np.uint32).view(np.float32)[0]
        assert decode_word(encode_word(value, dtypes.float32), dtypes.float32).tobytes() == value.tobytes()  # type: ignore[union-attr]


@pytest.mark.parametrize("name", SOME)
def test_printed_form(name: str) -> None:
    """Each node, port, site and scope has its line, equal images print alike, and the first line has the version of the
    form."""
    for graph in graphs(name):
        image, reply = build_image(graph), format_image(build_image(graph))
        assert reply == format_image(image) and f", version {IMAGE_VERSION}: " in reply.splitlines()[0]
        _, scopes, sites, nodes, ports, _, _ = map(str.splitlines, reply.split("\n\n"))
        assert [line.split("  ")[0] for line in nodes[1:]] == list(map(str, graph.nodes))
        assert [line.split("  ")[0] for line in sites[1:]] == list(map(str, image.site_list))
        assert [line.split("  ")[0] for line in scopes[1:]] == list(map(str, image.scope_list))
        assert len(ports) == len(image.ports) + 1
        assert not any(line != line.rstrip() for line in reply.splitlines())


def test_printed_form_of_a_small_graph() -> None:
    """The printed form explains its numbers: what a node does, where its operands wait, and where its results go."""
    texts = [" ".join(line.split()) for line in format_image(build_image(next(graphs("clamp")))).splitlines()]
    assert [line for line in texts if line.startswith(("clamp.a", "x "))] == [
        "clamp.a clamp maximum int64, int64 -> int64, as int16 2 w3 3,4 5 - - - clamp.b:0 -",
        "clamp.a:0 int16 3 w4 token w4",
        "clamp.a:1 int16 4 w4 w4 token",
        "x clamp.x:0",
    ]
