"""Cases from other projects: the functions that `jax.jit` compiles while a test suite runs are imported, and run on
both systems."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from inspect import Parameter, Signature
from typing import Any, Literal, TypeAlias

import jax
import numpy as np

from ....core.errors import TagloomError, Usage
from ...engines.limits import Limits
from ...function.function import Function
from ..functions import unique_identifiers
from .jax_function import import_function, parameter_names

Verdict: TypeAlias = Literal["alike", "differs", "refused", "unfinished"]
ATTRIBUTES = ("clear_cache", "eval_shape", "lower", "trace")
"""The methods of a function that JAX compiles."""
TOLERANCES = {8: 1e-10, 4: 1e-4, 2: 2e-2}
"""How much of the largest element of an array its elements may differ, by the bytes of a float."""


@dataclass(frozen=True, slots=True)
class JaxCase:
    """A call of a function that JAX compiled, once for each choice of shapes, dtypes and static arguments."""

    name: str
    arguments: tuple[np.ndarray[Any, Any], ...]
    """The arrays among the arguments of the first such call."""
    verdict: Verdict
    message: str = ""
    function: Function | None = field(default=None, compare=False)
    """The imported function of these arrays; None if it was refused."""

    def __str__(self) -> str:
        return f"{self.verdict}: {self.name}{': ' if self.message else ''}{self.message}"


class JaxCases(Sequence[JaxCase]):
    """The cases that were recorded between `start` and `stop`, or in a `with` statement."""

    def __init__(self, engine: str, limits: Limits) -> None:
        self.engine, self.limits = engine, limits
        self.cases: list[JaxCase] = []
        self._jit: Any = None
        self._is_busy = False

    def __getitem__(self, position: Any) -> Any:
        return self.cases[position]

    def __len__(self) -> int:
        return len(self.cases)

    def __str__(self) -> str:
        """A line for each case that is not alike, and one of counts."""
        counts = Counter(case.verdict for case in self.cases)
        words = [f"{count} {verdict}" for verdict, count in sorted(counts.items())] or ["none"]
        failures = [str(case) for case in self.cases if case.verdict != "alike"]
        return "\n".join([*failures, f"cases of jax.jit: {', '.join(words)}"])

    def __enter__(self) -> JaxCases:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> JaxCases:
        """Record the calls of functions that are passed to `jax.jit` from here on."""
        if self._jit is not None:
            raise Usage("these cases are being recorded already", hint="call stop() before start()")
        self._jit = jax.jit
        jax.jit = self.jit
        return self

    def stop(self) -> None:
        """Stop recording, and restore `jax.jit`."""
        if self._jit is not None:
            jax.jit, self._jit = self._jit, None

    def jit(self, *functions: Any, **options: Any) -> Any:
        """`jax.jit`, whose result also records its calls."""
        original = self._jit or jax.jit
        if not functions:
            return functools.partial(self.jit, **options)
        compiled = original(*functions, **options)
        function, signatures = functions[0], set[Any]()

        @functools.wraps(function, updated=())
        def call(*arguments: Any, **keywords: Any) -> Any:
            if self._jit is None or self._is_busy:
                return compiled(*arguments, **keywords)
            split = SplitCall(function, options, arguments, keywords)
            if split.signature is None or split.signature in signatures:
                return compiled(*arguments, **keywords)
            arrays = split.as_arrays()  # a donated array is deleted by the call
            result = compiled(*arguments, **keywords)
            if not any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree_util.tree_leaves(result)):
                signatures.add(split.signature)
                self.record(split, arrays, result)
            return result

        for name in ATTRIBUTES:
            if hasattr(compiled, name):
                setattr(call, name, getattr(compiled, name))
        return call

    def record(self, split: SplitCall, arrays: tuple[np.ndarray[Any, Any], ...], result: Any) -> None:
        """Import the function of a call, run it, and compare its results with those of JAX."""
        self._is_busy = True
        try:
            required = jax.tree_util.tree_leaves(result)
            self.cases.append(make_case(split, arrays, required, self.engine, self.limits))
        finally:
            self._is_busy = False


class SplitCall:
    """A call of a function: its arrays, which vary from run to run, and the rest."""

    def __init__(
        self, function: Callable[..., Any], options: Mapping[str, Any], arguments: Sequence[Any], keywords: Any
    ) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        parameters = parameter_names(function)
        self.static = static_positions(options, parameters, len(arguments))
        names = {parameters[k] for k in self.static if k < len(parameters)} | set(as_tuple(options, "static_argnames"))
        self.arguments = list(arguments)
        self.keywords = {name: value for name, value in keywords.items() if name in names}
        varying = (
            {k: value for k, value in enumerate(arguments) if k not in self.static},
            {name: value for name, value in keywords.items() if name not in names},
        )
        self.leaves, self.structure = jax.tree_util.tree_flatten(varying)
        self.names = list(leaf_names(varying, parameters))
        self.types: tuple[Any, ...] = ()
        """The shapes and dtypes of the arrays in JAX."""
        self.signature: Any = None
        """The types and static arguments for which JAX compiles the function; None for a call in the trace of another
        function, or with values that are not arrays of numbers."""
        if not any(isinstance(leaf, jax.core.Tracer) for leaf in self.leaves):
            with suppress(TypeError):  # a value that is no array, or a static argument that has no hash
                self.types = jax.eval_shape(lambda *leaves: leaves, *self.leaves)
                types = tuple((type_.shape, np.dtype(type_.dtype), type_.weak_type) for type_ in self.types)
                static = tuple(self.arguments[k] for k in sorted(self.static)), tuple(sorted(self.keywords.items()))
                hash(static)
                self.signature = types, self.structure, static

    def as_arrays(self) -> tuple[np.ndarray[Any, Any], ...]:
        """Copies of the arrays, with the dtypes that they have in JAX."""
        return tuple(np.array(leaf, type_.dtype) for leaf, type_ in zip(self.leaves, self.types, strict=True))

    def as_function(self) -> Callable[..., Any]:
        """The function of the arrays of the call alone."""

        def function(*leaves: Any) -> Any:
            positional, keywords = jax.tree_util.tree_unflatten(self.structure, leaves)
            values = [positional.get(k, value) for k, value in enumerate(self.arguments)]
            return self.function(*values, **keywords, **self.keywords)

        function.__name__ = self.name
        parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in unique_identifiers(self.names)]
        function.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        return function


def as_tuple(options: Mapping[str, Any], name: str) -> tuple[Any, ...]:
    """An option of `jax.jit` that is None, one value or several."""
    value = options.get(name)
    if value is None:
        return ()
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)


def static_positions(options: Mapping[str, Any], parameters: Sequence[str], count: int) -> set[int]:
    """The positions, among `count` arguments, of those that are static."""
    numbers = {number % count for number in as_tuple(options, "static_argnums") if -count <= number < count}
    names = set(as_tuple(options, "static_argnames"))
    return numbers | {k for k, name in enumerate(parameters[:count]) if name in names}


def leaf_names(varying: Any, parameters: Sequence[str]) -> Iterator[str]:
    """A name for each array: the parameter that it belongs to, and its path in that."""
    for path, _ in jax.tree_util.tree_flatten_with_path(varying)[0]:
        argument = path[1].key
        name = argument if isinstance(argument, str) else parameters[argument] if argument < len(parameters) else "x"
        yield "_".join([name, *(jax.tree_util.keystr((key,), simple=True) for key in path[2:])])


def make_case(
    split: SplitCall, arguments: tuple[np.ndarray[Any, Any], ...], required: Sequence[Any], engine: str, limits: Limits
) -> JaxCase:
    """The case of a call and of JAX's results."""
    name = split.name
    try:
        imported_function = import_function(split.as_function(), split.types)
        outcome = imported_function.run(*arguments, engine=engine, limits=limits)
    except TagloomError as error:
        return JaxCase(name, arguments, "refused", str(error).partition("\n")[0])
    if outcome.status == "Exhausted":
        return JaxCase(name, arguments, "unfinished", str(outcome.error).partition("\n")[0], imported_function)
    if outcome.status != "Returned":
        return JaxCase(name, arguments, "differs", str(outcome.error).partition("\n")[0], imported_function)
    actual = jax.tree_util.tree_leaves(outcome.value)
    for position, (expected, result) in enumerate(zip(required, actual, strict=True)):
        if not is_close(np.asarray(expected), np.asarray(result)):
            return JaxCase(
                name, arguments, "differs", f"result {position} is {result}, and {expected} in JAX", imported_function
            )
    return JaxCase(name, arguments, "alike", "", imported_function)


def is_close(required: np.ndarray[Any, Any], actual: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays have one dtype and shape and equal elements; floats may differ by rounding.

    >>> is_close(np.float32([1, np.nan]), np.float32([1.00001, np.nan])), is_close(np.int32(1), np.int32(2))
    (True, False)
    """
    if (required.dtype, required.shape) != (actual.dtype, actual.shape):
        return False
    if required.dtype.kind in "biu":
        return bool(np.array_equal(required, actual))
    tolerance = TOLERANCES[required.dtype.itemsize]
    wide, other = required.astype(np.float64), actual.astype(np.float64)
    largest = np.max(np.abs(wide), initial=0.0, where=np.isfinite(wide))
    return bool(np.allclose(other, wide, rtol=tolerance, atol=tolerance * largest, equal_nan=True))
