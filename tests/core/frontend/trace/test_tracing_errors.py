"""Functions that cannot be traced are refused with the user's line and what to write instead. The functions are in
files of their own, as a user's are, so that pytest does not change their lines."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tagloom as tl
from support.programs.userfile import load
from tagloom.core.program.program import Location


def function(body: str) -> str:
    """A traced function f of an integer n, with this body, which is not converted."""
    return "@tl.function\n@tl.autograph.do_not_convert\ndef f(n: tl.int64) -> tl.int64:\n" + textwrap.indent(
        textwrap.dedent(body).strip("\n"), "    "
    )


def trace_error(folder: Path, text: str) -> tl.TagloomError:
    """The error of the trace of f, which is at the line that the text marks."""
    module, here = load(folder, text)
    with pytest.raises(tl.TagloomError) as caught:
        module.f.program  # noqa: B018 - tracing is what it does
    assert caught.value.where == here
    return caught.value


COND, WHILE, LOGIC = "tl.cond(p, lambda: ..., lambda: ...)", "tl.while_loop(lambda x", "write p & q, p | q"
BUILTIN, CHOICE, NUMPY = (
    "`max`, `min` or another builtin",
    "tl.where(p, x, y)",
    "tagloom's function of that name, as in tl.sqrt(x)",
)
CONTROL: dict[str, tuple[str, str, str]] = {
    "if": ("if n > 0:  # here\n    return n\nreturn 1", "`if`", COND),
    "elif": ("if False:\n    return n\nelif n > 0:  # here\n    return 1\nreturn n", "`if`", COND),
    "if on a name": ("p = n > 0\nif p:  # here\n    return n\nreturn 1", "`if`", COND),
    "if on a call": ("if tl.less(n, 0):  # here\n    return n\nreturn 1", "`if`", COND),
    "if on a number": ("if n:  # here\n    return n\nreturn 1", "`if`", COND),
    "if on an assignment": ("if (m := n) > 0:  # here\n    return m\nreturn 1", "`if`", COND),
    "while": ("while n > 0:  # here\n    n = n - 1\nreturn n", "`while`", WHILE),
    "while on a name": ("p = n > 0\nwhile p:  # here\n    pass\nreturn n", "`while`", WHILE),
    "and": ("return n > 0 and n < 3  # here", "`and` / `or`", LOGIC),
    "or on names": ("p = n > 0\nreturn p or p  # here", "`and` / `or`", LOGIC),
    "and in an if": ("if n > 0 and n < 3:  # here\n    return 1\nreturn n", "`and` / `or`", LOGIC),
    "not": ("return not n > 0  # here", "`not`", "write ~p"),
    "not on a name": ("p = n > 0\nreturn not p  # here", "`not`", "write ~p"),
    "ternary": ("return 1 if n > 0 else 2  # here", "`x if p else y`", CHOICE),
    "ternary on a name": ("p = n > 0\nreturn 1 if p else 2  # here", "`x if p else y`", CHOICE),
    "ternary in an argument": ("return tl.abs(tl.abs(1 if n > 0 else 2))  # here", "`x if p else y`", CHOICE),
    "chained comparison": ("return 0 < n < 3  # here", "a chained comparison", "write (a < b) & (b < c)"),
    "in": ("return n in (1, 2)  # here", "`in`", "write (x == a) | (x == b)"),
    "not in": ("return n not in (1, 2)  # here", "`in`", "write (x == a) | (x == b)"),
    "assert": ("assert n > 0, 'no'  # here\nreturn n", "`assert`", "write tl.assert_"),
    "assert on a name": ("p = n > 0\nassert p  # here\nreturn n", "`assert`", "write tl.assert_"),
    "comprehension": ("return sum([k for k in range(3) if n > k])  # here", "a comprehension's `if`", CHOICE),
    "generator": ("return sum(k for k in range(3) if n > k)  # here", "a comprehension's `if`", CHOICE),
    "for": (
        "for k in tl.arange(n):  # here\n    pass\nreturn n",
        "iterating, or unpacking,",
        "loop with tl.while_loop",
    ),
    "for over a range": ("for k in range(n):  # here\n    pass\nreturn n", "range(), indexing", "tl.while_loop"),
    "unpacking": ("a, b = tl.arange(n)  # here\nreturn a", "iterating, or unpacking,", "x[0] is the first"),
    "int()": ("return int(n)  # here", "int()", "tl.astype(x, tl.int64)"),
    "float()": ("return float(n)  # here", "float()", "tl.astype(x, tl.float64)"),
    "bool()": ("return bool(n)  # here", BUILTIN, "write tl.maximum"),
    "len()": ("return len(tl.arange(n))  # here", "len()", "x.shape"),
    "max()": ("return max(n, 3)  # here", BUILTIN, "write tl.maximum"),
    "any()": ("return any([n > 3, n < 0])  # here", BUILTIN, "write tl.maximum"),
    "list.index": ("return [1, 2].index(n)  # here", "this line", COND),
    "a set": ("return {n}  # here", "hashing, as in a set", "compare: (x == a)"),
    "round()": ("return round(n)  # here", "rounding", "tl.round(x)"),
    "math.sqrt": ("return math.sqrt(n)  # here", "float()", "tl.astype"),
    "math.floor": ("return math.floor(n)  # here", "rounding", "tl.floor(x)"),
    "index of a list": ("return [1, 2, 3][n]  # here", "range(), indexing", "tl.while_loop"),
    "np.sqrt": ("return np.sqrt(n)  # here", "np.sqrt", "write tl.sqrt"),
    "np.add.reduce": ("return np.sum(n)  # here", "np.sum", "write tl.sum"),
    "np.array": ("return np.array(n)  # here", "a NumPy function", NUMPY),
    "np.array of a list": ("return np.array([n, 1])  # here", "a NumPy function", NUMPY),
    "an array changed in place": ("a = np.array([1, 2])\na += n  # here\nreturn n", "np.add", "write tl.add"),
    "match": ("match n:\n    case 0:  # here\n        return 1\nreturn n", "`match`", "write tl.cond(x == a"),
    "in a lambda": ("return tl.cond(n > 0, lambda: 1, lambda: 1 if n < -3 else 2)  # here", "`x if p else y`", CHOICE),
    "in a condition": (
        "return tl.while_loop(lambda i: i < n and i < 3, lambda i: i + 1, 0)[0]  # here",
        "`and`",
        LOGIC,
    ),
    "on the lines of a lambda": (
        "return tl.cond(\n    n > 0,\n    lambda: (\n        1\n        if n > 2  # here\n        else 2\n"
        "    ),\n    lambda: 3,\n)",
        "`x if p else y`",
        CHOICE,
    ),
    "on the lines of a statement": ("if (\n    n  # here\n    > 0\n):\n    return 1\nreturn n", "`if`", COND),
    "after unicode": ("s = 'äöü€𝄞'; return (1 if n > 0 else 2) if len(s) else 0  # here", "`x if p else y`", CHOICE),
}


@pytest.mark.parametrize("name", CONTROL)
def test_f1_control_flow_on_symbols(name: str, tmp_path: Path) -> None:
    """F1: if Python needs a concrete value from a symbolic one, the error names the construct, the line, and what to
    write."""
    body, construct, hint = CONTROL[name]
    error = trace_error(tmp_path, function(body))
    assert isinstance(error, tl.Invalid) and error.rule == "F1"
    assert error.message.startswith(construct)
    assert error.hint is not None and hint in error.hint
    assert "symbolic while tagloom traces" in error.message


RETURNS: dict[str, tuple[str, str]] = {
    "another type": ("-> tl.int64:\n    return n > 0", "required: int64\n  got: bool"),
    "two values for one": ("-> tl.int64:\n    return n, n", "required: one value\n  got: (value, value)"),
    "one value for two": ("-> tuple[tl.int64, tl.int64]:\n    return n", "required: (value, value)\n  got: one value"),
    "a tuple of one for one": ("-> tl.int64:\n    return (n,)", "required: one value\n  got: (value,)"),
    "one for a tuple of one": ("-> tuple[tl.int64]:\n    return n", "required: (value,)\n  got: one value"),
    "nothing": ("-> tl.int64:\n    n + 1", "f returns nothing\n"),
    "an empty tuple": ("-> tl.int64:\n    return ()", "f returns no number and no array"),
    "a float for an integer": ("-> tl.int64:\n    return 1.5", "required: int64\n  got: 1.5 of type float64"),
    "a text": ("-> tl.int64:\n    return 'a'", "not a value of a program"),
    "a list": ("-> tl.int64:\n    return [n, n]", "required: one value\n  got: [value, value]"),
    "a nested tuple": (
        "-> tuple[tl.int64, tl.int64]:\n    return n, (n, n)",
        "required: (value, value)\n  got: (value, (value, value))",
    ),
}


@pytest.mark.parametrize("name", RETURNS)
def test_wrong_results_are_refused_at_the_definition(name: str, tmp_path: Path) -> None:
    """A function that returns another type than annotated is refused at its definition."""
    head, text = RETURNS[name]
    assert text in without_location(trace_error(tmp_path, f"@tl.function  # here\ndef f(n: tl.int64) {head}"))


def without_location(error: tl.TagloomError) -> str:
    return str(error).replace(f" ({error.where})", "")


STRUCTURE: dict[str, tuple[str, str, str]] = {
    "a predicate that is no bool": (
        "return tl.cond(n, lambda: 1, lambda: 2)  # here",
        "V5",
        "required: bool\n  got: int64",
    ),
    "a predicate of two": ("return tl.cond((n > 0, n < 3), lambda: 1, lambda: 2)  # here", "V5", "got: (value, value)"),
    "branches of two types": (
        "return tl.cond(n > 0, lambda: n, lambda: n > 1)  # here",
        "V5",
        "required: int64 (user.py:4)\n  got: bool",
    ),
    "branches of two numbers": (
        "return tl.cond(n > 0, lambda: n, lambda: (n, n))  # here",
        "V5",
        "one value\n  got: (value, value)",
    ),
    "a branch that returns nothing": (
        "return tl.cond(n > 0, lambda: None, lambda: n)  # here",
        "V5",
        "returns nothing",
    ),
    "a branch with a parameter": (
        "return tl.cond(n > 0, lambda m: m, lambda: n)  # here",
        "",
        "required: 0 parameters\n  got: (m)",
    ),
    "a body without its parameter": (
        "return tl.while_loop(lambda i: i < 3, lambda: 1, n)[0]  # here",
        "",
        "required: 1 parameter\n  got: ()",
    ),
    "a branch that is not a function": ("return tl.cond(n > 0, n, lambda: n)  # here", "", "must be a function"),
    "no loop variable": ("return tl.while_loop(lambda: True, lambda: ())[0]  # here", "", "at least one loop variable"),
    "a condition that is no bool": ("return tl.while_loop(lambda i: i, lambda i: i, n)[0]  # here", "V5", "got: int64"),
    "a condition of two": (
        "return tl.while_loop(lambda i: (i < 3, i < 4), lambda i: i, n)[0]  # here",
        "V5",
        "got: (value, value)",
    ),
    "a condition that is nothing": ("return tl.while_loop(lambda i: None, lambda i: i, n)[0]  # here", "", "NoneType"),
    "a body that is not a function": (
        "return tl.while_loop(lambda i: i < 3, n, n)[0]  # here",
        "",
        "must be a function",
    ),
    "a loop variable that becomes a float": (
        "return tl.while_loop(lambda i: i < 3, lambda i: tl.astype(i, tl.float64), n)[0]  # here",
        "V5",
        "loop variable i changes its type",
    ),
    "a loop variable too many": (
        "def body(i, j):  # here\n    return i\nreturn tl.while_loop(lambda i, j: i < 3, body, n, n)[0]",
        "V5",
        "required: 2\n  got: 1",
    ),
    "a body that returns nothing": (
        "return tl.while_loop(lambda i: i < 3, lambda i: None, n)[0]  # here",
        "V5",
        "nothing",
    ),
    "operands of two dtypes": (
        "return tl.add(n, 1.5)  # here",
        "V4",
        "add: the dtypes of the operands do not promote to a common one",
    ),
    "an operand has the wrong kind of dtype": ("m = 1\nreturn tl.sqrt(n)  # here", "V4", "tl.astype(x, tl.float64)"),
    "an operand that is no value": ("return n + 'a'  # here", "", "not a value of a program"),
    "an operand that is a list of symbols": ("return tl.ones(2) + [n, n]  # here", "F1", "a list of symbolic values"),
    "a number and a list": ("return n + [n, n]  # here", "", "unsupported operand type(s) for +: 'int' and 'list'"),
    "an integer too large": ("return n + 2**63  # here", "", "does not fit into int64"),
    "no dtype for astype": ("return tl.astype(n, int)  # here", "", "this is not a dtype"),
    "operands too few": ("return tl.add(n)  # here", "", "add takes 2 operands"),
    "a value of a branch outside": (
        "kept = []\ntl.cond(n > 0, lambda: kept.append(n + 1) or n, lambda: n)\nreturn n + kept[0]  # here",
        "F2",
        "outside the function, branch or loop that made it",
    ),
    "a value of a loop outside": (
        "kept = []\ntl.while_loop(lambda i: kept.append(i) or i < 3, lambda i: i + 1, n)\nreturn n + kept[0]  # here",
        "F2",
        "outside the function, branch or loop that made it",
    ),
    "a value of one branch in the other": (
        "kept = []\nreturn tl.cond(n > 0, lambda: kept.append(n + 1) or n, lambda: kept[0] * 2)  # here",
        "F2",
        "got: add",
    ),
}


@pytest.mark.parametrize("name", STRUCTURE)
def test_v4_v5_f2_wrong_operands_and_structures_are_refused(name: str, tmp_path: Path) -> None:
    """V4, V5, F2: branches, loops and operands that do not fit are refused at the user's line, with the rule."""
    body, rule, text = STRUCTURE[name]
    error = trace_error(tmp_path, function(body))
    assert (error.rule or "") == rule and text in without_location(error)


def test_f2_a_value_of_another_function(tmp_path: Path) -> None:
    """F2: a symbolic value that leaked from its function is refused where it is used."""
    text = """
        kept = []

        @tl.function
        def g(n: tl.int64) -> tl.int64:
            kept.append(n + 1)
            return n

        @tl.function
        def f(n: tl.int64) -> tl.int64:
            tl.function(lambda m: g(m)).trace(3)
            return n + kept[0]  # here
        """
    error = trace_error(tmp_path, text)
    assert error.rule == "F2" and "values leave a region only as its results" in str(error.hint)


def test_f2_a_value_of_a_branch_of_the_function_around(tmp_path: Path) -> None:
    """F2: an inner function sees the values of the outer one, but not those of a finished branch; the error says where
    the value was created."""
    text = """
        @tl.function
        def f(n: tl.int64) -> tl.int64:
            kept = []
            tl.cond(n > 0, lambda: kept.append(n + 1) or n, lambda: n)

            @tl.function
            def inner(k):
                return k + kept[0]

            return inner(n)  # here
        """
    error = trace_error(tmp_path, text)
    assert error.rule == "F2" and "values leave a region only as its results" in str(error.hint)
    assert str(error.got) == f"add (user.py:{error.where.line - 6})"  # type: ignore[attr-defined]


def test_f2_a_value_after_its_trace() -> None:
    """F2: a symbolic value cannot be used after the trace of its function."""
    kept: list[Any] = []
    tl.function(lambda n: kept.append(n) or n).trace(3)
    with pytest.raises(tl.Invalid, match="after its function was traced") as caught:
        kept[0] + 1
    assert caught.value.rule == "F2"


CALLS: dict[str, tuple[str, str]] = {
    "too few arguments": ("return g(n)  # here", "required: g(a: int64, b: float64)\n  got: 1 argument"),
    "too many arguments": ("return g(n, 1.0, n)  # here", "got: 3 arguments"),
    "an argument of another type": (
        "return g(n, n > 0)  # here",
        "V6: argument b of g has the wrong type\n  required: float64",
    ),
    "a literal of another type": ("return g(1.5, 1.0)  # here", "required: int64\n  got: 1.5"),
    "a run in a trace": ("return g.run(1, 2.0).value  # here", "g.run cannot be traced\n  hint: write g(...)"),
}


@pytest.mark.parametrize("name", CALLS)
def test_v6_wrong_calls_are_refused_at_the_call(name: str, tmp_path: Path) -> None:
    """V6: a call with arguments that the function does not take is refused at its line."""
    body, text = CALLS[name]
    callee = "@tl.function\ndef g(a: tl.int64, b: tl.float64) -> tl.int64:\n    return a\n\n"
    assert text in without_location(trace_error(tmp_path, callee + function(body)))


SIGNATURES: dict[str, tuple[str, str]] = {
    "a type for *n": ("*n: tl.int64", "parameter n of f collects arguments, and cannot have a type"),
    "a type for **n": ("**n: tl.int64", "parameter n of f collects arguments, and cannot have a type"),
    "no annotation": ("n", "parameter n of f has no type"),
    "text in a type": (
        "n: tuple[tl.int64, str]",
        "parameter n of f: not a type\n  required: a dtype such as tl.int64, or tl.Array",
    ),
    "a number as a type": ("n: 3", "not a type"),
    "a name that is nowhere": ("n: 'nope'", "the annotations of f cannot be read\n  got: name 'nope' is not defined"),
    "no expression": ("n: 'tl.int64 +'", "cannot be read"),
    "a list to return": ("n: tl.int64) -> (list[tl.int64]", "not a type"),
    "any number to return": ("n: tl.int64) -> (tuple[tl.int64, ...]", "the result of f: not a type"),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_wrong_signatures_are_refused_at_the_definition(name: str, tmp_path: Path) -> None:
    """Parameters are annotated with types or not at all; other annotations are refused at the definition."""
    head, text = SIGNATURES[name]
    error = trace_error(tmp_path, f"@tl.function  # here\ndef f({head}):\n    return n")
    assert isinstance(error, tl.Usage) and text in without_location(error)


def _f(n):  # type: ignore[no-untyped-def]
    return n


_f.__name__ = "f"


@pytest.mark.parametrize(
    ("argument", "message"), [(3.5, "a value of the wrong type"), (300, "fit into int8"), ((1, 2), "structure")]
)
def test_wrong_arguments_are_at_the_call(argument: Any, message: str) -> None:
    """Concrete arguments that do not fit are refused at the line of the call, with or without annotations."""

    @tl.function
    def narrow(n: tl.int8) -> tl.int8:
        return n

    for function, wrong in ((narrow, argument), (tl.function(_f), object())):
        with pytest.raises(tl.Usage) as caught:
            function(wrong)
        assert "test_tracing_errors.py" in str(caught.value.where)
        assert message in caught.value.message or function is not narrow


def test_methods_of_objects_without_attributes() -> None:
    """A method is cached in its instance. If the instance has no room for it, the error says where to add it."""

    class Holder:
        __slots__ = ()

        @tl.function
        def twice(self, n):  # type: ignore[no-untyped-def]
            return n + n

    with pytest.raises(tl.Usage, match="twice cannot be a method of a class with __slots__") as caught:
        Holder().twice(3)
    assert caught.value.hint == "define it outside of the class and call twice(instance, ...)"
    assert isinstance(Holder.twice, tl.Function)


@pytest.mark.parametrize("what", [len, dict.get, 3, "f", None, type, {}.get], ids=lambda what: type(what).__name__)
def test_only_functions_are_traced(what: Any) -> None:
    """Builtins, classes and objects are refused as decorated functions."""
    with pytest.raises(tl.Usage, match="needs a Python function") as caught:
        tl.function(what)
    assert "test_tracing_errors.py" in str(caught.value.where)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("raise KeyError('mine')", KeyError),
        ("return tl.cond(n > 0, lambda: [][1], lambda: 2)", IndexError),
        ("return tl.while_loop(lambda i: i < n, lambda i: len(), 0)[0]", TypeError),
        ("return [].real", AttributeError),
        ("return undefined", NameError),
    ],
)
def test_exceptions_of_the_user_pass_through(body: str, kind: type[Exception], tmp_path: Path) -> None:
    """Exceptions of the user's own code are not wrapped, and do not affect later traces."""
    module, _ = load(tmp_path, function(body) + "\n\n@tl.function\ndef g(n: tl.int64) -> tl.int64:\n    return n")
    for _ in range(2):
        with pytest.raises(kind) as caught:
            module.f.program  # noqa: B018
        assert caught.value.__cause__ is None and not isinstance(caught.value, tl.TagloomError)
    assert module.g(3) == 3


def test_f1_code_without_a_file() -> None:
    """F1: if the source cannot be read, the error still has the line."""
    scope: dict[str, Any] = {"tl": tl}
    exec("@tl.function\ndef f(n: tl.int64) -> tl.int64:\n    return 1 if n > 0 else 2\n", scope)
    with pytest.raises(tl.Invalid, match="this line needs a concrete value") as caught:
        scope["f"].program  # noqa: B018
    assert caught.value.where == Location("<string>", 3) and COND in str(caught.value.hint)


def test_f1_user_code_beside_the_package(tmp_path: Path) -> None:
    """F1: only tagloom's own folders are excluded from the user's code, and not a folder whose name begins alike."""
    from tagloom.core.frontend.trace import source_location as source

    ours = Path(tl.__file__).parent
    assert not str(ours / "core_of_mine" / "user.py").startswith(source._INTERNAL_PATHS)
    assert str(ours / "core" / "op.py").startswith(source._INTERNAL_PATHS) and not str(tmp_path).startswith(
        source._INTERNAL_PATHS
    )


def test_recursion_that_only_python_sees() -> None:
    """Calls that recurse on a Python number are written out one by one: too many are refused in words."""

    def add_up(x: Any, count: int) -> Any:
        return x if count == 0 else x + add_up(x, count - 1)

    assert tl.function(lambda x: add_up(x, 100))(1.0) == 101.0
    with pytest.raises(tl.Invalid, match="nest too deeply while tagloom traces") as caught:
        tl.function(lambda x: add_up(x, 10_000))(1.0)
    assert isinstance(caught.value, RecursionError) and "test_tracing_errors.py" in str(caught.value)
    assert tl.function(add_up)(1.0, 10_000) == 10_001.0


@pytest.mark.parametrize("value", [True, 3, 2.5, np.eye(2)], ids=lambda value: type(value).__name__)
def test_hasattr_never_denies_what_python_has(value: Any) -> None:
    """`hasattr` of a symbolic value is true or refused for each attribute of Python's value, and false for others."""

    def denied(x: Any) -> list[str]:
        names = []
        for name in [*filter(lambda each: not each.startswith("_"), dir(value)), "no_such_name"]:
            try:
                names += [] if hasattr(x, name) else [name]
            except tl.Usage as error:
                assert f"have no attribute {name}" in str(error)
        return names

    found: list[str] = []
    tl.function(tl.autograph.do_not_convert(lambda x: (found.extend(denied(x)), x)[1])).trace(value)
    assert found == ["no_such_name"]
