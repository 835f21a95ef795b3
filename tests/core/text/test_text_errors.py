"""Errors of texts that cannot be read: the line, the culprit, what is expected, and a hint."""

from __future__ import annotations

from dataclasses import replace

import pytest
import tagloom as tl
from tagloom.core.program.program import Program, Region
from tagloom.core.program.validate import program_problems
from tagloom.core.text import parse

FUNCTION = "func f(x: int64) -> int64 {\n  y = BODY\n  return y\n}"


def complaint(text: str, file: str | None = "f.tl") -> str:
    with pytest.raises((tl.Malformed, tl.Invalid)) as raised:
        parse(text, file)
    assert raised.value.__cause__ is None and (raised.value.__suppress_context__ or not raised.value.__context__)
    return str(raised.value)


def test_the_full_message() -> None:
    """The message has file, line and column; the line with a caret under the culprit; what is expected; and a hint."""
    assert complaint(FUNCTION.replace("BODY", "add x 1")) == "\n".join(
        [
            "unexpected `1` (f.tl:2:13)",
            "      y = add x 1",
            "                ^",
            "  required: `,` or the end of the line",
            "  hint: operands are separated by commas",
        ]
    )


@pytest.mark.inner(first=25)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(x: int64) {\n}", ["f.tl:1:1", "`func`, `graph` or `case`", "begins with `func`"]),
        ("func f(x: int) {\n  return x\n}", ["f.tl:1:11", "no dtype 'int'", "did you mean int64?"]),
        ("func f(x) {\n  return x\n}", ["f.tl:1:9", "a parameter has a type"]),
        ("func f(x: float64[3,) {\n  return x\n}", ["f.tl:1:18", "sizes end with `]`"]),
        ("func f(x: float64[3, y]) {\n  return x\n}", ["f.tl:1:11", "is not a type"]),
        (f"func f(x: bool[{', '.join('1' * 65)}]) {{\n  return x\n}}", ["f.tl:1:11", "64 at most", "got: 65"]),
        ("entry f\nfunc f(x: bool) {\n  return x\n}\nentry f", ["f.tl:5:7", "two lines name the entry"]),
        ("graph g(x: bool) {\n  site calls g\n  return x\n}", ["f.tl:2:14", "required: `calls`"]),
        ("func f(x: int64) {\n  y = abs x\n}", ["f.tl:3:1", "as in `return r`"]),
        ("func f(x: int64) {\n  # {\n  y = abs x\n  return x\n", ["f.tl:1:18", "this brace is not closed"]),
        ("func f(x: int64)\n{\n  return x\n}", ["f.tl:1:17", "unexpected end of the line", "`->` or `{`"]),
        (FUNCTION.replace("BODY", "add(x, 1)"), ["f.tl:2:10", "without parentheses"]),
        (FUNCTION.replace("BODY", "x + 1"), ["f.tl:2:9", "ops are written by name"]),
        (FUNCTION.replace("BODY", "add x, 1;"), ["f.tl:2:15", "each statement is on a line of its own"]),
        (FUNCTION.replace("BODY", "add x,"), ["f.tl:2", "unexpected end of the line", "a name or a literal"]),
        (FUNCTION.replace("BODY", "add x, [1, [2]]"), ["f.tl:2:14", "rows of one length"]),
        (FUNCTION.replace("BODY", "add x, int9(3)"), ["f.tl:2:14", "no such dtype"]),
        (FUNCTION.replace("BODY", "add x, 99999999999999999999"), ["f.tl:2:14", "does not fit into int64"]),
        (FUNCTION.replace("BODY", "astype dtype=bool, x"), ["f.tl:2:26", "operands come before attributes"]),
        (FUNCTION.replace("BODY", "astype x, dtype=bol"), ["f.tl:2:23", "'bol' is not a dtype"]),
        (FUNCTION.replace("BODY", "cond x, x"), ["f.tl:2:7", "`then` and `else`", "follow it in braces"]),
        (
            FUNCTION.replace("BODY", "cond x { then() { yield 1 } els() { yield 2 } }"),
            ["f.tl:2:35", "`then` and `else`, in this order", "not the regions of cond"],
        ),
        (FUNCTION.replace("BODY", "abs x { then() { yield 1 } }"), ["f.tl:2:15", "abs takes no regions"]),
        (FUNCTION.replace("BODY", "abs x at 12"), ["f.tl:2:13", 'from "fib.py"']),
        ('from "a\\q"\n', ["f.tl:1:6", "escape"]),
        ("from 'a'\n", ["f.tl:1", "double quotes"]),
        ("graph g(x: int64) {\n  m = merge z\n  return m\n}", ["f.tl:2:13", "z is not defined"]),
        ("graph g(x: int64) {\n  s = switch x, x\n  return s\n}", ["f.tl:3:10", "write s:0"]),
        ("graph g(x: int64) {\n  m = merge x\n  return m:1\n}", ["f.tl:3:10", "no such output"]),
        ("graph g(x: int64) {\n  x = merge x\n  return x\n}", ["f.tl:2:3", "call the node g.x"]),
        ("graph g(x: int64) {\n  m = abs x\n  m = abs x\n  return m\n}", ["f.tl:3:3", "two nodes"]),
        ("graph g(x: int64, x: bool) {\n  return x\n}", ["f.tl:1:7", "two arguments"]),
        (FUNCTION.replace("BODY", "call f, x"), ["f.tl:2:13", "no comma", "`call f x`"]),
        ("graph g(x: int64) {\n  y = call f x\n  return y\n}", ["f.tl:2:14", "a call in a graph", "`call[f] x`"]),
        ("graph g(x: bool) {\n  y = cond x {\n  return y\n}", ["f.tl:2:14", "only functions have regions"]),
        ("graph g(x: bool) {\n  y = abs True\n  return y\n}", ["f.tl:2:11", "True is not defined", "`true`"]),
        ("graph g(x: bool) {\n  y = astype x, int8\n  return y\n}", ["f.tl:2:17", "write `dtype=int8`"]),
        ("graph g(x) {\n  return x\n}", ["f.tl:1:9", "the type of an argument is missing"]),
        ("graph g(x: bool, @y) {\n  return x\n}", ["f.tl:1:19", "hidden arguments come first"]),
        ("graph g(x: bool) {\n  m = abs[g.s] x\n  return m\n}", ["f.tl:2:11", "write the kind"]),
        ("graph g(x: bool) -> bool, bool {\n  return x\n}", ["f.tl:2:3", "required: 2 results", "got: 1 result"]),
        ("graph g(x: bool) {\n  return x\n}\nfunc g(x: bool) {\n  return x\n}", ["f.tl:4:6", "the same name"]),
        ("case f(3 returns 4\n", ["f.tl:1:10", "`)` or `,`"]),
        ("case f(3) return 4\n", ["f.tl:1:11", "`returns`"]),
        ("case f(3) exhausts 4 bytes\n", ["f.tl:1:22", "`firings`, `tokens` or `depth`"]),
        ("case f(3) refused 4\n", ["f.tl:1:19", "a rule, such as V8 or S4"]),
        ("func f(x\u00b2: bool) {\n  return x\n}", ["f.tl:1:8", "not a name"]),
        ("func f(x: bool) {\n  return x\n}\x00", ["f.tl:3:2", "unexpected '\\x00'"]),
        ("func f(x: int64) {\n  y = call f x\n  return y\n}", ["f.tl:1", "V6", "never to return", "func f(...) ->"]),
    ],
)
def test_a_mistake_is_named(text: str, expected: list[str]) -> None:
    """Mistakes that people make are reported at their place, with a message that helps."""
    reply = complaint(text)
    assert all(words in reply for words in expected), reply
    assert "V6" in expected or reply.splitlines()[2].strip() == "^"


def test_texts_without_a_file_have_positions() -> None:
    """The error about a text without a file has a line and column too."""
    assert "(line 1, column 1)" in complaint("hello", None)


def test_the_caret_stands_under_the_culprit() -> None:
    """Of a long line, the part around the culprit is printed; tabs do not shift the caret."""
    lines = complaint(FUNCTION.replace("BODY", f"add {'x' * 300}, !")).splitlines()
    assert lines[1][lines[2].index("^")] == "!" and len(lines[1]) < 120 and lines[1].strip().startswith("...")
    lines = complaint("func\tf(x: int64)\t!").splitlines()
    assert lines[1][lines[2].index("^")] == "!"


@pytest.mark.parametrize("text", ["\ufeffFUNC", "FUNC\r\n", "FUNC\t\n", "\n\n  # note\n\tFUNC # more", "FUNC\r\r\n"])
def test_white_space_changes_nothing(text: str) -> None:
    """A byte order mark, line ends of other systems, tabs, blank lines and comments change nothing."""
    plain = FUNCTION.replace("BODY", "abs x")
    written = text.replace("FUNC", plain.replace("\n", "\r\n" if "\r" in text else "\n"))
    assert parse(written) == parse(plain)


WORDS = [
    "then",
    "else",
    "while",
    "do",
    "func",
    "graph",
    "case",
    "entry",
    "at",
    "calls",
    "site",
    "call",
    "loop",
    "results",
    "in",
    "e1",
    "été",
]


@pytest.mark.parametrize("word", WORDS)
def test_words_of_the_language_can_be_names(word: str) -> None:
    """A value, a function and a node may be named like a word of the language."""
    body = f"  y = call {word} {word}\n  z = abs y\n  return {word}\n"
    program = tl.parse_program(f"func {word}({word}: int64) -> int64 {{\n{body}}}".replace("z", f"{word}_"))
    assert tl.parse_program(tl.print_program(program)) == program
    graph = tl.parse_graph(f"graph {word}(x: int64) {{\n  {word} = abs x\n  y = add {word}, x\n  return y\n}}")
    assert tl.parse_graph(tl.print_graph(graph)) == graph and len(graph.nodes) == 3


def nested(depth: int) -> str:
    opening, closing = "", ""
    for k in range(depth):
        opening += f"r{k} = cond p, p {{\nthen(p: bool) {{\n"
        closing = f"}}\nelse(p: bool) {{ yield p }}\n}}\n{'yield' if k else 'return'} r{k}\n" + closing
    return f"func f(p: bool) {{\n{opening}yield p\n{closing}}}"


def too_deep(program: Program, inner: Region) -> Program:
    """The program with its innermost region replaced."""

    def region(given: Region) -> Region:
        if not given.nodes:
            return inner
        (node,) = given.nodes
        return replace(given, nodes=(replace(node, regions=(region(node.regions[0]), *node.regions[1:])),))

    return replace(program, functions=(replace(program.main, body=region(program.main.body)),))


@pytest.mark.full
def test_programs_that_nest_too_deep_are_not_printed() -> None:
    """A program that could not be read back is refused, with and without nodes in the innermost region."""
    program = tl.parse_program(nested(100))
    one = tl.parse_program(nested(1)).main.body
    for inner in (one, replace(one, nodes=())):
        if inner.nodes:
            with pytest.raises(tl.Usage, match="more than 100 nested regions"):
                tl.print_program(too_deep(program, inner))
        else:
            assert parse(tl.print_program(too_deep(program, inner)))


@pytest.mark.full
def test_the_limit_on_nesting() -> None:
    """Programs with regions 100 deep are validated, lowered, printed and run. Deeper ones, and endless brackets, are
    refused in words, without a RecursionError."""
    program = tl.parse_program(nested(100))
    assert program_problems(program) == [] and tl.parse_program(tl.print_program(program)) == program
    graph = tl.lower(program)
    assert tl.parse_graph(tl.print_graph(graph)) == graph and tl.run_graph(graph, [True]).value is True
    for depth in (101, 3_000):
        assert "regions nest too deep" in complaint(nested(depth))
    assert "brackets nest too deep" in complaint(FUNCTION.replace("BODY", f"abs {'[' * 5000}{']' * 5000}"))
    assert "unexpected end of the line" in complaint(FUNCTION.replace("BODY", f"abs {'[' * 5000}"))


def test_lines_of_the_text_as_locations() -> None:
    """With `file`, a node without a location has its line of the text; without `file`, it has none."""
    text = FUNCTION.replace("BODY", "floor_divide 1, x")
    program = tl.parse_program(text, "dir/f.tl")
    assert str(program.main.location) == "f.tl:1" and str(program.main.body.nodes[0].location) == "f.tl:2"
    trapped = tl.run_graph(tl.lower(program), [0])
    assert "(f.tl:2)" in str(trapped.error)
    assert tl.parse_program(text).main.body.nodes[0].location is None


def test_each_parser_reads_its_own_form() -> None:
    """parse_program takes functions only, and parse_graph one graph."""
    graph = "graph g(x: int64) {\n  return x\n}\n"
    for read, text in (
        (tl.parse_program, graph),
        (tl.parse_graph, graph + graph.replace("g(", "h(")),
        (tl.parse_graph, ""),
    ):
        with pytest.raises(tl.Malformed):
            read(text)
    with pytest.raises(tl.Usage):
        parse(b"func")  # type: ignore[arg-type]
