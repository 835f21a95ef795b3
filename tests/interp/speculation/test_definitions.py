"""What a graph takes from functions, classes and modules is what they are at the call."""

from __future__ import annotations

import builtins
import copy
import functools
import pickle
from types import ModuleType
from typing import Any

import pytest
import tagloom as tl
from support.speculated_scenarios import Counter, double
from support.speculation import call
from tagloom.interp.speculation.speculative_function import INTERNAL_ERROR, SpeculativeGraph

pytestmark = pytest.mark.full


def _compare(speculated: Any, *calls: tuple[Any, ...]) -> None:
    """Calls that change nothing have the same result as in Python."""
    for arguments in calls:
        assert call(speculated, arguments) == call(speculated.python, arguments)


def _scaled(a, b=2, *, c=1):
    return a * b + c


def _product(a, b=3, *, c=1):
    return a * b * c


def test_parameters() -> None:
    """Defaults and code may be replaced, and keywords are those of Python, whatever the names."""
    speculated = tl.speculate(_function(_scaled))
    _compare(speculated, (1,), (2,), (3,), (4,), (5, 6))
    speculated.python.__defaults__ = (7,)
    _compare(speculated, (5,), (6,))
    speculated.python.__kwdefaults__["c"] = 8
    _compare(speculated, (5,), (6,))
    speculated.python.__code__ = _product.__code__
    _compare(speculated, (5,), (6,), (), (1, 2, 3))
    assert speculated.counts.graph > 4


def _function(function: Any) -> Any:
    """A new function with the same code."""
    new = type(function)(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    new.__kwdefaults__ = dict(function.__kwdefaults__)
    return new


def _bump(self, by):
    self.n += by
    return self.n


def test_parameter_self() -> None:
    speculated, counter = tl.speculate(_bump), Counter(0)
    assert [speculated(self=counter, by=k) for k in range(6)] == [0, 1, 3, 6, 10, 15]
    assert speculated.counts.graph == 3


def test_wrapper() -> None:
    """The signature of a wrapper is its own, not that of the wrapped function."""

    @functools.wraps(double)
    def wrapper(n, k=5):
        return n + k

    _compare(tl.speculate(wrapper), *((n,) for n in range(6)))


class _One:
    pass


class _Other:
    pass


class _Disguised:
    __class__ = property(lambda self: _Other)


def _is_other(value):
    return isinstance(value, _Other)


def test_bases() -> None:
    """The bases of a class may change."""
    derived = type("Derived", (_One,), {})
    speculated = tl.speculate(_is_other)
    _compare(speculated, *[(derived(),)] * 5)
    derived.__bases__ = (_Other,)
    assert speculated(derived())
    assert speculated(derived())


def test_class_in_disguise() -> None:
    """`isinstance` asks for `__class__`, which may be a property."""
    speculated = tl.speculate(_is_other)
    assert all(speculated(_Disguised()) for _ in range(6))


class _Plain:
    def __init__(self, n):
        self.n = n


def _increase(plain):
    plain.n += 1
    return plain.n


_SPECIAL_METHODS: dict[str, Any] = {
    "__getattribute__": lambda self, name: 50 if name == "n" else object.__getattribute__(self, name),
    "__getattr__": lambda self, name: 60,
    "__setattr__": lambda self, name, value: object.__setattr__(self, name, value * 100),
    "__delattr__": lambda self, name: None,
    "__del__": lambda self: None,
}


@pytest.mark.parametrize("name", _SPECIAL_METHODS)
def test_special_methods_that_a_class_gets(name: str) -> None:
    """Once a class or its base has a method that runs when an attribute is accessed, calls run in Python."""
    base = type("Base", (), {})
    for owner in (base, own := type("Own", (base, _Plain), {})):
        speculated = tl.speculate(engine="reference")(_increase)
        assert [speculated(own(k)) for k in range(6)] == [*range(1, 7)]
        setattr(owner, name, _SPECIAL_METHODS[name])
        instances = [own.__new__(own) for _ in range(2)]
        for instance in instances:
            instance.__dict__["n"] = 1
        assert speculated(instances[0]) == _increase(instances[1])
        assert vars(instances[0]) == vars(instances[1])
        assert speculated.counts.graph == 3
        delattr(owner, name)


class _Module(ModuleType):
    @property
    def n(self) -> int:
        return 42


_module = _Module("module")
_module.__dict__["n"] = 5


def _add(k):
    return _module.n + k


def test_module_with_properties() -> None:
    _compare(tl.speculate(_add), *((k,) for k in range(6)))


def _size(n):
    return abs(n)


def test_builtin_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A builtin may be replaced, and come back; a global variable may hide it."""
    speculated = tl.speculate(_size)
    calls = [(-n,) for n in range(5)]
    _compare(speculated, *calls)
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "abs", lambda n: 42)
        _compare(speculated, *calls)
    _compare(speculated, *calls)
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "abs", lambda n: 43)
        _compare(speculated, *calls)
    _compare(speculated, *calls)
    assert speculated.counts.graph > 10


@pytest.mark.parametrize("step", ["encode", "decode"])
def test_internal_error(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a fault of tagloom itself Python runs the call, and each write is made once."""

    def fail(*_: Any) -> None:
        raise IndexError(step)

    speculated, counter = tl.speculate(_bump), Counter(0)
    assert [speculated(counter, 1) for _ in range(4)] == [1, 2, 3, 4]
    monkeypatch.setattr(SpeculativeGraph, step, fail)
    assert [speculated(counter, 1) for _ in range(4)] == [5, 6, 7, 8]
    assert f"{INTERNAL_ERROR}: IndexError: {step}" in speculated.reason


@tl.speculate
def _triple(n):
    return 3 * n


def test_copies() -> None:
    """Copied and pickled as functions are."""
    assert copy.copy(_triple) is copy.deepcopy([_triple])[0] is pickle.loads(pickle.dumps(_triple)) is _triple
