"""Programs and graphs as JSON: they survive a round trip, and malformed documents are refused with their place."""

from __future__ import annotations

import base64
import json
import math
import random
import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from support.generators.generator import Case, cases
from support.generators.graph_edits import EDITS
from support.generators.json_edits import PROGRAMS, RUNS, documents, fib
from tagloom.core import dtypes
from tagloom.core.graph.graph import Graph
from tagloom.core.graph.lower import lower
from tagloom.core.json import value as json_value
from tagloom.core.json.cursor import JsonCursor, parse_json
from tagloom.core.json.value import read_type, read_value, type_to_json, value_to_json, value_to_json_text
from tagloom.core.program.program import MAX_NESTING, Location, Program
from tagloom.core.types import Type
from tagloom.core.value import is_same_value, normalize, round_floats

SHAPES = st.one_of(st.none(), st.lists(st.one_of(st.none(), st.integers(0, 2**62)), max_size=4).map(tuple))


@st.composite
def values(draw: Any) -> Any:
    """Values of every dtype and of small shapes, any bits."""
    dtype = draw(st.sampled_from(dtypes.ALL))
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
    size = math.prod(shape)
    if dtype.kind == "b":
        return normalize(
            np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)), bool).reshape(shape),
            Type(dtype, shape),
        )
    width = dtype.numpy.itemsize
    data = draw(
        st.lists(
            st.one_of(st.binary(min_size=width, max_size=width), st.sampled_from(_edges(dtype))),
            min_size=size,
            max_size=size,
        )
    )
    return normalize(np.frombuffer(b"".join(data), dtype.numpy).reshape(shape), Type(dtype, shape))


def _edges(dtype: dtypes.DType) -> list[bytes]:
    """The bits of numbers at which the written form changes."""
    if dtype.kind == "f":
        floats = [0.0, -0.0, 1.0, 0.1, 1e30, math.inf, -math.inf, math.nan, 5e-324]
        return [round_floats(np.array(number), dtype).tobytes() for number in floats]
    low, high = dtype.range
    near = [0, 1, low, high, 2**53, 2**53 + 1, -(2**53), -(2**53) - 1]
    return [np.array(number, dtype.numpy).tobytes() for number in near if low <= number <= high]


def through_text(document: Any) -> Any:
    return json.loads(json.dumps(document, allow_nan=False))


@pytest.mark.parametrize("max_listed", [json_value.MAX_LISTED_ELEMENTS, 1], ids=["listed", "base64"])
@given(value=values())
def test_values_survive_a_round_trip(max_listed: int, value: Any) -> None:
    """A value of any dtype and shape is read back bit for bit, and its text is the canonical one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_value, "MAX_LISTED_ELEMENTS", max_listed)
        form = value_to_json(value)
        assert json.loads(value_to_json_text(value)) == form
    assert isinstance(form["data"], str) == (np.size(value) > max_listed) or np.ndim(value) == 0
    assert is_same_value(read_value(JsonCursor(through_text(form))), value)


def test_large_arrays_are_base64() -> None:
    """The elements of an array of more than 4,096 elements are the base64 of their bytes, little-endian, row by row;
    all NaNs have the bits of one."""
    array = np.arange(4098, dtype=np.int16).reshape(2, 2049)
    form = value_to_json(array)
    assert form == {
        "dtype": "int16",
        "shape": [2, 2049],
        "data": base64.b64encode(array.astype("<i2").tobytes()).decode(),
    }
    assert isinstance(value_to_json(array[:, :2048])["data"], list)
    nans = np.full(5000, np.nan)
    assert value_to_json(np.copysign(nans, -1.0)) == value_to_json(nans)


@pytest.mark.parametrize(
    ("dtype", "data"),
    [("int32", "AAAA"), ("int32", "AAAAA"), ("int32", "AA AAAA="), ("int32", "ä"), ("bool", "AgA="), ("float64", "")],
    ids=["part of an element", "no base64", "a space", "no ASCII", "a byte that is no bool", "too few"],
)
def test_damaged_base64_is_refused(dtype: str, data: str) -> None:
    """Elements in base64 must be whole, as many as the shape has, and of the dtype."""
    with pytest.raises(tl.Malformed, match=r"\$\.data"):
        read_value(JsonCursor({"dtype": dtype, "shape": [2], "data": data}))


@given(values())
def test_every_number_survives_readers_of_doubles(value: Any) -> None:
    """A number in a document is the same after a program that has only doubles has read and written it."""

    def doubles(data: Any) -> Any:
        if isinstance(data, list):
            return [doubles(item) for item in data]
        return int(float(data)) if type(data) is int else data

    form = value_to_json(value)
    assert is_same_value(read_value(JsonCursor({**form, "data": doubles(form["data"])})), value)


@given(st.sampled_from(dtypes.ALL), SHAPES)
def test_types_survive_a_round_trip(dtype: dtypes.DType, shape: Any) -> None:
    """A type is read back, with unknown sizes and shapes."""
    assert read_type(JsonCursor(through_text(type_to_json(Type(dtype, shape))))) == Type(dtype, shape)


def test_an_integer_is_read_as_a_float() -> None:
    """Writers with one kind of number write 1 for 1.0, which is read as a float if a float is required."""
    assert is_same_value(read_value(JsonCursor({"dtype": "float64", "data": 1})), 1.0)
    assert struct.pack("<d", read_value(JsonCursor({"dtype": "float64", "data": -0.0}))) == struct.pack("<d", -0.0)


@given(cases())
@settings(max_examples=30)
def test_programs_and_graphs_survive_a_round_trip(case: Case) -> None:
    """from_json(to_json(x)) == x for a generated program and its graph, with locations, through text too; the graph
    that is read has the same run."""
    graph = lower(case.program)
    for subject in (case.program, graph):
        document = tl.to_json(subject)
        assert tl.from_json(document) == subject == tl.from_json(json.dumps(document, allow_nan=False))
    again = tl.from_json(tl.to_json(graph))
    assert isinstance(again, Graph)
    limits = tl.Limits(firings=500)
    runs = [tl.run_graph(each, case.arguments, limits=limits, keep="events") for each in (graph, again)]
    assert tl.to_json(runs[0]) == tl.to_json(runs[1])


@given(cases(), st.sampled_from(EDITS), st.integers(0, 2**32))
@settings(max_examples=120)
def test_invalid_graphs_survive_a_round_trip(case: Case, edit: Any, seed: int) -> None:
    """An invalid graph is data, even with edges to nowhere."""
    graph = edit(random.Random(seed), lower(case.program))
    assert tl.from_json(through_text(tl.to_json(graph))) == graph


def test_locations_survive_a_round_trip() -> None:
    """Files and lines are kept."""
    place = Location("/a folder/ünï.py", 12)
    program = replace(PROGRAMS[0], functions=tuple(replace(f, location=place) for f in PROGRAMS[0].functions))
    assert tl.from_json(through_text(tl.to_json(program))) == program


def test_attributes_survive_a_round_trip() -> None:
    """Attributes of every kind that JSON has are kept; a dtype is one only under the name dtype."""
    attributes = (
        ("dtype", tl.int64),
        ("axis", 1),
        ("name", "x"),
        ("keep", None),
        ("on", True),
        ("eps", 0.5),
        ("axes", (0, (1,))),
    )
    graph = RUNS[5][0]
    graph = replace(graph, nodes=(replace(graph.nodes[0], attributes=attributes), *graph.nodes[1:]))
    assert tl.from_json(through_text(tl.to_json(graph))) == graph
    for strange in (("dtype", "int64"), ("axis", tl.int64), ("x", object()), ("x", 2**60)):
        with pytest.raises(tl.Usage, match=r"cannot be written as JSON"):
            tl.to_json(replace(graph, nodes=(replace(graph.nodes[0], attributes=(strange,)), *graph.nodes[1:])))


def test_other_objects_are_refused() -> None:
    """Anything but a program, graph or outcome is the caller's mistake; so is a name that is no Unicode."""
    with pytest.raises(tl.Usage, match="no JSON form"):
        tl.to_json(fib)  # type: ignore[arg-type]
    with pytest.raises(tl.Usage, match="cannot be written as JSON"):
        tl.to_json(replace(RUNS[0][0], name="\ud800"))


def test_files(tmp_path: Any) -> None:
    """write_json and read_json are to_json and from_json on a file; a missing file is a wrong argument."""
    for number, subject in enumerate((PROGRAMS[0], RUNS[0][0], tl.run_graph(*RUNS[2]))):
        tl.write_json(subject, tmp_path / f"{number}.json")
        assert tl.to_json(tl.read_json(tmp_path / f"{number}.json")) == tl.to_json(subject)
    for wrong in (tmp_path / "none.json", tmp_path, tmp_path / "0.json" / "x.json"):
        with pytest.raises(tl.Usage, match="cannot be read"):
            tl.read_json(wrong)
        with pytest.raises(tl.Usage, match="cannot be written"):
            tl.write_json(subject, wrong if wrong.name != "none.json" else tmp_path / "none" / "x")


GRAPH = json.dumps(tl.to_json(RUNS[0][0]))
PROGRAM = json.dumps(tl.to_json(PROGRAMS[0]))
ONE = '"int64", "data": 1}'
"""The first literal of the graph."""
PORT = "$.nodes[1].ports[1]"


def graph(old: str, new: str) -> str:
    return GRAPH.replace(old, new, 1)


def program(old: str, new: str) -> str:
    return PROGRAM.replace(old, new, 1)


REFUSED = [
    ("", "$", None, "Expecting value, in line 1, column 1"),
    ("[1", "$", None, "in line 1, column 3"),
    ("[]", "$", "an object", "a list of 0"),
    ("{}", "$", 'the key tagloom, as in "tagloom": "program"', "an empty object"),
    ('{"tagloom": "tree"}', "$.tagloom", "one of program, graph, outcome", '"tree"'),
    ('{"tagloom": "graph"}', "$", "the key version", "an object of tagloom"),
    ('{"tagloom": "graph", "version": 2}', "$.version", "version 1", "2"),
    ('{"tagloom": "graph", "version": true}', "$.version", "version 1", "true"),
    ('{"tagloom": "graph", "tagloom": "graph"}', "$", "an object", 'an object that has the key "tagloom" twice'),
    ('{"tagloom": "graph", "version": 1}', "$", "the key name", "an object without it: an object of tagloom, version"),
    ("[" * 100_000, "$", None, "lists and objects nested too deep"),
    ("9" * 5000, "$", None, "an integer of thousands of digits"),
    (graph('"hidden": 0', '"hidden": 0, "more": 0'), "$", "no keys but", 'the key "more"'),
    (graph('"hidden": 0', '"hidden": true'), "$.hidden", "an integer", "true"),
    (graph('"hidden": 0', '"hidden": 0.0'), "$.hidden", "an integer", "0.0"),
    (graph('"hidden": 0', '"hidden": NaN'), "$.hidden", "an integer", "NaN, which JSON does not have"),
    (graph('"hidden": 0', f'"hidden": {2**70}'), "$.hidden", "an integer of at most 64 bits", "an integer of 71 bits"),
    (graph(ONE, '"int64", "data": 1e999}'), f"{PORT}.data", "an integer", "inf"),
    (graph(ONE, '"int64", "data": "1"}'), f"{PORT}.data", "an integer", '"1"'),
    (graph(ONE, '"int4", "data": 1}'), f"{PORT}.dtype", "one of bool", '"int4"'),
    (graph(ONE, '"int8", "data": 200}'), f"{PORT}.data", "an integer within the range of int8", "200"),
    (graph(ONE, '"float32", "data": 1e39}'), f"{PORT}.data", "a number within the range of float32", "1e+39"),
    (graph(ONE, '"float64", "data": 1e999}'), f"{PORT}.data", "a number, within the range of float64", "inf"),
    (graph(ONE, '"bool", "shape": [9999999, 9999999], "data": []}'), f"{PORT}.data", "as many elements", "0"),
    (graph(ONE, '"bool", "shape": [0, 4611686018427387904, 8], "data": []}'), f"{PORT}.shape", "the shape", "[0, 46"),
    (graph(ONE, '"bool", "shape": [-1], "data": [true]}'), f"{PORT}.shape[0]", "an integer from 0 up", "-1"),
    (graph(ONE, '"bool", "shape": [], "data": []}'), f"{PORT}.shape", "1 to 64 sizes", "0"),
    (graph('"edges": [[0, 0]]', '"edges": [[0]]'), "$.arguments[0].edges[0]", "a list of node, port", "a list of 1"),
    (graph('"kind": "call"', '"kind": "cond"'), "kind", "one of call, loop", '"cond"'),
    (program('"fib"', '"\\ud800"'), "$.entry", "a string of Unicode", "one with half a surrogate pair"),
    (program('"attributes": {"function": "fib"}', '"attributes": {}'), "attributes", "the name of the f", "an empty"),
    (program('{"name": "n"}', '{"name": "n", "literal": 3}'), "inputs[0]", "no keys but literal", 'the key "name"'),
]


@pytest.mark.parametrize(("text", "where", "required", "got"), REFUSED, ids=range(len(REFUSED)))
def test_malformed_documents_are_refused(text: str, where: str, required: str | None, got: str) -> None:
    """The error Malformed has the place, what is required there, and what was got."""
    with pytest.raises(tl.Malformed) as raised:
        tl.from_json(text)
    error = raised.value
    assert where in str(error.where) and (where != "$" or error.where == "$")
    assert required is None or required in str(error.required)
    assert got in str(error.got)


def test_bytes_are_utf8() -> None:
    """Only UTF-8 is a document."""
    assert tl.from_json(GRAPH.encode()) == RUNS[0][0]
    for wrong in (b"\xff", GRAPH.encode("utf-16"), b"\xef\xbb\xbf" + GRAPH.encode()):
        with pytest.raises(tl.Malformed):
            tl.from_json(wrong)


def test_data_that_is_no_json_is_refused() -> None:
    """Plain data that is not from json.loads is checked too: tuples, cycles, keys that are no strings."""
    for key, strange in (("nodes", ()), ("name", b"x"), ("hidden", np.int64(0)), (3, 3), (None, 0)):
        with pytest.raises(tl.Malformed):
            tl.from_json({**tl.to_json(RUNS[0][0]), key: strange})
    program = tl.to_json(PROGRAMS[0])
    region = program["functions"][0]["body"]
    region["nodes"][1]["regions"] = [region]
    with pytest.raises(tl.Malformed):
        tl.from_json(program)


@pytest.mark.full
def test_the_limit_on_nesting() -> None:
    """Each region nests four objects and lists. At the limit, a program can be lowered and run; one region more is
    refused."""

    def nested(depth: int) -> Program:
        def body(n: Any, left: int) -> Any:
            return n if not left else tl.cond(n < left, lambda: n, lambda: body(n, left - 1))

        @tl.function
        def main(n: tl.int64) -> tl.int64:
            return body(n, depth)

        return main.program

    program = tl.from_json(json.dumps(tl.to_json(nested(MAX_NESTING))))
    assert isinstance(program, Program)
    assert tl.run_graph(lower(program), [0]).value == 0
    assert tl.parse_program(tl.print_program(program)) == program
    with pytest.raises(tl.Invalid, match="branches and loops nest too deep") as refused:
        nested(MAX_NESTING + 1)
    assert "test_document.py" in str(refused.value.where)


def test_numbers_are_parsed_once() -> None:
    """`parse` gives what `json` gives: the data of every document is plain."""
    for document in documents():
        assert parse_json(json.dumps(document)) == document
