"""Annotations: the parameter and result types that a Python function declares.

This module reads signatures. Annotations nest as values do: in tuples, dicts, TypedDicts, NamedTuples and dataclasses.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter
from types import CodeType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np

from ...dtypes import DType
from ...errors import TagloomError, Usage, plural
from ...program.program import Location
from ...types import Type, as_type
from .pytree import (
    LEAF,
    Static,
    StaticLeaf,
    TreeDef,
    TreeKey,
    TreeType,
    check_keys,
    check_rebuildable,
    compound_type,
    describe_difference,
    flatten,
    is_argument_leaf,
    is_named_tuple,
    leaf_names,
    leaf_type,
    static_treedef,
    unflatten,
)
from .source_location import definition_location, user_location

MAX_GENERIC_NESTING = 8
"""How deep a generic class may nest in itself, as in Box[Box[tl.int64]]; without a limit it might never end."""
DeclaredParameter = tuple[str, TreeType | None]
"""A parameter's name and declared type, which is None where the argument decides."""


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """A Python function to trace, with its parameters and its result type, which is None where it declares none.

    `bind` turns the arguments of a Python call into one for each declared parameter: a tuple for `*args`, a dict for
    `**kwargs`. All other methods, and `python_function`, take arguments in this form.
    """

    python_function: Callable[..., Any]
    declared_parameters: tuple[DeclaredParameter, ...]
    result_type: TreeType | None
    static_parameters: frozenset[str] = frozenset()
    """The parameters annotated `tl.Static`: their arguments are never values of the program."""
    signature: inspect.Signature | None = field(default=None, compare=False)
    """How Python calls bind to the parameters; None for a derived function, whose calls are positional."""
    is_positional: bool = field(default=True, compare=False)
    """Whether all parameters can be passed by position, one argument each; stored, since every call asks."""
    is_local: bool = field(default=False, compare=False)
    """Whether the function uses Python state at the time of its caller's trace, so that it is traced only there, at the
    call."""
    adjoint_count: int = 0
    """How many of the parameters, the last ones, take adjoints: these nest as results do."""

    @property
    def name(self) -> str:
        return self.python_function.__name__

    @property
    def location(self) -> Location:
        """The line where the function is defined."""
        return definition_location(self.python_function.__code__)

    @property
    def identifier(self) -> str:
        """The base of the function's name in a program."""
        return self.name if self.name.isidentifier() else "function"

    def bind(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Sequence[Any]:
        """The argument of each parameter in the call `f(*arguments, **named)`, defaults included.

        Raises Usage, which is a TypeError too, where the call does not fit the parameters."""
        is_complete = self.is_positional and len(arguments) == len(self.declared_parameters)
        if not keywords and (is_complete or self.signature is None):
            return arguments
        if self.signature is None:
            raise Usage(
                f"the arguments of {self.name} are positional",
                where=user_location(),
                required=f"{self.name}({', '.join(name for name, _ in self.declared_parameters)})",
                got=", ".join(f"{name}=..." for name in keywords),
                python=TypeError,
            )
        try:
            bound = self.signature.bind(*arguments, **keywords)
        except TypeError as error:
            if not keywords and all(map(_is_required, self.signature.parameters.values())):
                self.check_argument_count(len(arguments))
            raise Usage(
                f"this call does not fit the parameters of {self.name}",
                where=user_location(),
                required=f"{self.name}{_describe_signature(self.signature)}",
                got=str(error).removeprefix("got "),
                python=TypeError,
            ) from None
        return tuple(
            bound.arguments[name] if name in bound.arguments else self.default(name)
            for name, _ in self.declared_parameters
        )

    def leaf_parameters(self, count: int | None = None) -> list[tuple[str, Type | None]]:
        """The name and type of each leaf of the arguments; a parameter without annotation counts as one leaf.

        With `count`, the leaves of a positional call with that many leaves, if such a call is possible: the last
        parameters with defaults may be left out, and `*args` takes the rest."""
        leaves: list[tuple[str, Type | None]] = []
        for (name, tree_type), size in zip(self.declared_parameters, self._leaf_counts(count), strict=True):
            number = size or 0
            if number and name in self.static_parameters:
                raise Usage(f"parameter {name} of {self.name} is static: it has no literal", where=self.location)
            if tree_type is not None:
                leaves += zip(leaf_names(tree_type.treedef, name), tree_type.types, strict=True) if number else ()
            elif self._kind(name) is Parameter.VAR_POSITIONAL:
                leaves += [(f"{name}_{k}", None) for k in range(number)]
            else:
                leaves += [(name, None)] * number
        return leaves

    def unflatten_arguments(self, leaves: Sequence[Any]) -> list[Any]:
        """The argument of each parameter, from one value for each of `leaf_parameters(len(leaves))`."""
        values, arguments = iter(leaves), list[Any]()
        for (name, tree_type), number in zip(self.declared_parameters, self._leaf_counts(len(leaves)), strict=True):
            parts = [next(values) for _ in range(number or 0)]
            if self._kind(name) is Parameter.VAR_POSITIONAL:
                arguments.append(tuple(parts))
            elif self._kind(name) is Parameter.VAR_KEYWORD:
                arguments.append({})
            elif number is None:
                arguments.append(self.default(name))
            else:
                arguments.append(parts[0] if tree_type is None else unflatten(tree_type.treedef, parts))
        return arguments

    def _leaf_counts(self, count: int | None) -> list[int | None]:
        """How many of `count` leaves by position each parameter takes; None for one that is left out."""
        sizes: list[int | None] = [self._size(name, tree_type) for name, tree_type in self.declared_parameters]
        if count is None:
            return sizes
        names = [name for name, _ in self.declared_parameters]
        is_variadic = any(self._kind(name) is Parameter.VAR_POSITIONAL for name in names)
        for position, name in reversed(list(enumerate(names))):
            is_left_over = is_variadic and self._kind(name) is Parameter.KEYWORD_ONLY
            if self.has_default(name) and (is_left_over or sum(size or 0 for size in sizes) > count):
                sizes[position] = None
        for position, name in enumerate(names):
            if self._kind(name) is Parameter.VAR_POSITIONAL:
                sizes[position] = max(0, count - sum(size or 0 for size in sizes))
        return sizes

    def _size(self, name: str, tree_type: TreeType | None) -> int:
        if self._kind(name) in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
            return 0
        return 1 if tree_type is None else len(tree_type.types)

    def _kind(self, name: str) -> Any:
        return Parameter.POSITIONAL_ONLY if self.signature is None else self.signature.parameters[name].kind

    def has_default(self, name: str) -> bool:
        """Whether a call may leave out this parameter; `*args` and `**kwargs` count as such."""
        return self.signature is not None and not _is_required(self.signature.parameters[name])

    def default(self, name: str) -> Any:
        """The argument of a parameter that a call leaves out; `has_default` must hold. Without a declared type it is
        static, so that a number takes any dtype that fits."""
        assert self.signature is not None
        parameter = self.signature.parameters[name]
        if parameter.kind is Parameter.VAR_POSITIONAL:
            return ()
        if parameter.kind is Parameter.VAR_KEYWORD:
            return {}
        is_typed = dict(self.declared_parameters)[name] is not None
        return parameter.default if is_typed else StaticLeaf(parameter.default)

    def keep_defaults_static(self, arguments: Sequence[Any], values: Collection[Any] = ()) -> list[Any]:
        """The arguments with which a derived function is traced, from the arguments that `bind` returns for a call of
        this one. The default of an omitted argument is static, so that its numbers take any dtype that fits. The
        arguments at the positions `values` are values in any case."""
        defaults = [self.default(name) if self.has_default(name) else None for name, _ in self.declared_parameters]
        return [
            default if isinstance(default, StaticLeaf) and argument is default.value and k not in values else argument
            for k, (argument, default) in enumerate(zip(arguments, defaults, strict=True))
        ]

    def resolve_types(self, argument_types: Sequence[TreeType | None]) -> tuple[TreeType, ...]:
        """The parameters' types: as annotated, otherwise the types of the arguments."""
        self.check_argument_count(len(argument_types))
        types = []
        for (name, declared), argument_type in zip(self.declared_parameters, argument_types, strict=True):
            type_ = declared or argument_type
            if type_ is None:
                raise Usage(
                    f"parameter {name} of {self.name} has no type",
                    where=self.location,
                    hint=f"annotate it, as in {name}: tl.int64, or use .trace(...) with example arguments",
                )
            types.append(type_)
        return tuple(types)

    def flatten_arguments(
        self, arguments: Sequence[object], error: type[TagloomError]
    ) -> list[tuple[list[Any], TreeDef]]:
        """The leaves and structure of every argument; `...` takes the structure of its annotation. Raises `error` where
        an argument has a different structure than its annotation."""
        self.check_argument_count(len(arguments))
        first_adjoint = len(arguments) - self.adjoint_count
        flattened = [
            self.flatten_argument(parameter, argument, is_adjoint=position >= first_adjoint)
            for position, (parameter, argument) in enumerate(zip(self.declared_parameters, arguments, strict=True))
        ]
        for (name, declared), (_, structure) in zip(self.declared_parameters, flattened, strict=True):
            if declared is not None and declared.treedef != structure:
                required, got = describe_difference(declared.treedef, structure, name)
                raise error(
                    f"argument {name} of {self.name} has the wrong structure",
                    rule="V6",
                    where=user_location(),
                    required=required,
                    got=got,
                    hint="pass a list for an array, not a tuple"
                    if declared.treedef == LEAF and structure.container is tuple
                    else None,
                )
        return flattened

    def flatten_argument(
        self, parameter: DeclaredParameter, argument: object, *, is_adjoint: bool = False
    ) -> tuple[list[Any], TreeDef]:
        """The leaves and structure of one argument; a static parameter has no leaves."""
        name, declared = parameter
        if isinstance(argument, StaticLeaf):  # a default
            return [], TreeDef(StaticLeaf, static_leaf=argument)
        if name in self.static_parameters:
            return [], static_treedef(argument)
        if argument is ... and declared is not None:
            return [...] * len(declared.types), declared.treedef
        if type(argument) is list and declared is not None and declared.treedef == LEAF:
            return [argument], LEAF
        structure, is_open = declared and declared.treedef, declared is None
        if is_adjoint:
            return flatten(argument, like=structure, by_reference=is_open, is_leaf=None)
        return flatten(argument, like=structure, by_reference=is_open, is_leaf=is_argument_leaf, packs_numbers=True)

    def check_argument_count(self, count: int) -> None:
        """Raises Usage for a different number of arguments than the function has parameters."""
        if count != len(self.declared_parameters):
            names = ", ".join(name if type_ is None else f"{name}: {type_}" for name, type_ in self.declared_parameters)
            raise Usage(
                f"{self.name} takes {plural(len(self.declared_parameters), 'argument')}",
                where=user_location(),
                required=f"{self.name}({names})",
                got=plural(count, "argument"),
                python=TypeError,
            )


class DerivedFunction:
    """A callable with its own name and implementation; its location and docstring are those of `original`."""

    def __init__(self, name: str, original: Callable[..., Any], implementation: Callable[..., Any]) -> None:
        self.__name__ = self.__qualname__ = name
        self.__doc__ = original.__doc__
        self.__code__ = _renamed_code(original.__code__, original.__code__.co_filename, name)
        self.implementation = implementation

    def __call__(self, *arguments: Any) -> Any:
        return self.implementation(*arguments)


@functools.cache
def _renamed_code(code: CodeType, file: str, name: str) -> CodeType:
    """The code of a function under another name, which distinguishes a derived function from the original. The file is
    part of the cache key, since equal functions in two files have equal code."""
    return code.replace(co_name=name, co_filename=file)


def underlying_function(python: Any) -> Any:
    """The Python function behind a callable: behind a `functools.partial`, a bound method, or an instance of a class
    with `__call__`. Raises Usage, which is a TypeError too, where there is none, as for a builtin."""
    if isinstance(python, classmethod | staticmethod):
        kind = type(python).__name__
        raise Usage(
            "tl.function needs a Python function",
            where=user_location(),
            got=kind,
            hint=f"write @{kind} above @tl.function",
            python=TypeError,
        )
    function = python
    while not hasattr(function, "__code__"):
        if isinstance(function, functools.partial):
            function = function.func
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif hasattr(type(function).__call__, "__code__"):
            function = type(function).__call__
        else:
            raise Usage(
                "tl.function needs a Python function", where=user_location(), got=repr(python), python=TypeError
            )
    return function


def callable_name(python: Any) -> str:
    """The name of a callable: of the function behind a `functools.partial`, or of the class of an instance."""
    while isinstance(python, functools.partial):
        python = python.func
    return getattr(python, "__name__", type(python).__name__)


_UNTRACED_KINDS = {"generator": inspect.CO_GENERATOR, "coroutine": inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR}
"""The kinds of functions that have no result to trace, with the flags of their code."""


def read_function_spec(python: Callable[..., Any], signature: tuple[Any, ...] | None = None) -> FunctionSpec:
    """Read a callable's parameters and annotations. `Any` counts as no annotation, and so does an annotation of Python
    that fixes no structure, such as `list[int]`. `signature`, if given, replaces the annotations of all parameters.
    Raises Usage for annotations that are not types."""
    function, name = underlying_function(python), callable_name(python)
    location = definition_location(function.__code__)
    declared = _read_signature(python, function, name, location)
    annotations = [parameter.annotation for parameter in declared.parameters.values()]
    if signature is not None and len(signature) != len(annotations):
        required, got = plural(len(annotations), "type"), len(signature)
        raise Usage(f"the signature of {name} has the wrong length", where=location, required=required, got=got)
    annotations = annotations if signature is None else list(signature)
    namespace = getattr(function, "__globals__", {})
    owners = [*(f"parameter {parameter}" for parameter in declared.parameters), "the result"]
    try:
        *types, result = [
            _declared_type(f"{owner} of {name}", annotation, namespace)
            for owner, annotation in zip(owners, (*annotations, declared.return_annotation), strict=True)
        ]
        for k, parameter in enumerate(declared.parameters.values()):
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) and types[k] is not None:
                _require_python_type(name, parameter, annotations[k], namespace)
                types[k] = None
    except TagloomError as error:
        error.where = location
        raise
    static = frozenset(
        parameter
        for parameter, annotation in zip(declared.parameters, annotations, strict=True)
        if annotation is Static
    )
    is_positional = all(
        parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        for parameter in declared.parameters.values()
    )
    call = python if is_positional else PositionalCall(python, declared)
    if call is not python or not hasattr(python, "__code__"):
        call = DerivedFunction(name, function, call)
    pairs = tuple(zip(declared.parameters, types, strict=True))
    return FunctionSpec(call, pairs, result, static, declared, is_positional)


def _read_signature(python: Callable[..., Any], function: Any, name: str, location: Location) -> inspect.Signature:
    """The parameters of a callable; `function` has its code. Raises Usage for generators and coroutines, and for
    annotations that cannot be read."""
    for kind, flags in _UNTRACED_KINDS.items():
        if function.__code__.co_flags & flags:
            raise Usage(
                f"{name} is a {kind}, and returns no value",
                where=location,
                hint="append to a list, and return it" if kind == "generator" else None,
                python=TypeError,
            )
    try:
        return inspect.signature(python, eval_str=True)
    except (NameError, SyntaxError, TypeError, AttributeError) as error:
        raise Usage(f"the annotations of {name} cannot be read", where=location, got=error) from None


def _declared_type(owner: str, annotation: Any, namespace: Mapping[str, Any]) -> TreeType | None:
    """The type that an annotation declares, None for one that declares none; errors name its owner."""
    if annotation in (inspect.Signature.empty, Any, Static, None):
        return None
    try:
        return declared_tree_type(annotation, namespace)
    except TagloomError as error:
        error.message = f"{owner}: {error.message}"
        raise


def _require_python_type(
    name: str, parameter: inspect.Parameter, annotation: Any, namespace: Mapping[str, Any]
) -> None:
    """Raises Usage if the annotation of a parameter that collects arguments declares a type."""
    if not is_python_type(annotation) or names_dtype(annotation, namespace):
        raise Usage(
            f"parameter {parameter.name} of {name} collects arguments, and cannot have a type",
            got=str(parameter),
            hint="leave out the annotation: the arguments decide their types",
        )


@dataclass(frozen=True)
class PositionalCall:
    """A callable that takes one argument for each parameter by position, and passes them on as the kinds of the
    parameters require."""

    python: Callable[..., Any]
    signature: inspect.Signature

    def __call__(self, *arguments: Any) -> Any:
        keywords = dict(zip(self.signature.parameters, arguments, strict=True))
        bound = inspect.BoundArguments(self.signature, keywords)
        return self.python(*bound.args, **bound.kwargs)


def _is_required(parameter: Parameter) -> bool:
    is_variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return not is_variadic and parameter.default is parameter.empty


def _describe_signature(signature: inspect.Signature) -> str:
    """The parameters as in a `def`, without annotations."""
    parameters = [parameter.replace(annotation=Parameter.empty) for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))


def declared_tree_type(annotation: Any, namespace: Mapping[str, Any]) -> TreeType | None:
    """The tree type of an annotation; None for one of Python that fixes no structure of values, such as `list[int]`,
    `str` and `int | None`: the argument decides.

    Raises Usage for another annotation that is not a type: one with a dtype in it that declares no tree of values."""
    try:
        return tree_type_of_annotation(annotation, namespace)
    except Usage:
        if is_python_type(annotation) and not names_dtype(annotation, namespace):
            return None
        raise


def is_python_type(annotation: Any) -> bool:
    """Whether an annotation is a class, a generic alias, a union or a type variable."""
    return isinstance(annotation, type | TypeVar) or get_origin(annotation) is not None


def names_dtype(annotation: Any, namespace: Mapping[str, Any], enclosing: tuple[object, ...] = ()) -> bool:
    """Whether a type of tagloom or NumPy is a part of an annotation, or of a class in it."""
    if isinstance(annotation, DType | Type) or annotation is Static:
        return True
    if isinstance(annotation, type) and issubclass(annotation, np.generic):
        return True
    if annotation is None or any(annotation is outer for outer in enclosing):
        return False
    try:
        _, fields = split_annotation(annotation, namespace) or (None, {})
    except Usage:
        return True  # the class says what is wrong with it
    parts = (get_origin(annotation), *get_args(annotation), *fields.values())
    return any(names_dtype(part, namespace, (*enclosing, annotation)) for part in parts)


def tree_type_of_annotation(
    annotation: Any, namespace: Mapping[str, Any], enclosing: tuple[object, ...] = ()
) -> TreeType:
    """The tree type of an annotation; annotations written as strings may use the names in `namespace`.

    Raises Usage for an annotation that is not a type, and for a class that contains itself.
    """
    container = split_annotation(annotation, namespace)
    if container is None:
        return leaf_type_of_annotation(annotation)
    kind, parts = container
    depth = sum(kind is (get_origin(outer) or outer) for outer in enclosing if kind is not tuple)
    if any(annotation is outer for outer in enclosing) or depth > MAX_GENERIC_NESTING:
        raise Usage(f"{kind.__name__} contains itself", hint="a value of a program has a fixed structure")
    if kind not in (tuple, list, dict):
        check_rebuildable(kind, tuple(map(str, parts)))
    typed_parts = []
    for key, part in parts.items():
        try:
            typed_parts.append((key, tree_type_of_annotation(part, namespace, (*enclosing, annotation))))
        except Usage as error:
            if isinstance(annotation, type):
                error.message = f"field {key} of {annotation.__name__}: {error.message}"
            raise
    return compound_type(kind, typed_parts)


def leaf_type_of_annotation(annotation: Any) -> TreeType:
    """The tree type of an annotation that does not nest; raises Usage, with a hint, where it is not a type."""
    try:
        return leaf_type(as_type(annotation))
    except Usage as error:
        error.got = repr(annotation).replace(f"{DType.__module__}.", "tl.")
        origin = get_origin(annotation) or annotation
        error.hint = _ANNOTATION_HINTS.get(origin, _NO_ANNOTATION_HINT if isinstance(origin, type) else None)
        if isinstance(annotation, TypeVar):
            error.hint = "give it a type, as in Box[tl.int64] for a generic class Box"
        raise


_ANNOTATION_HINTS: dict[object, str] = {
    tuple: "a tuple has a fixed length, as in tuple[tl.int64, tl.int64]; any number of values is an array, "
    "tl.Array[tl.int64, None]",
    list: "a list has no fixed length: write tl.Array[tl.int64, None] for an array, [tl.int64, tl.int64] for a list of "
    "two, or leave out the annotation, so that the argument decides",
    dict: "a dict has fixed keys: write a typing.TypedDict, or leave out the annotation",
}
"""Hints for annotations that have no fixed structure."""
_NO_ANNOTATION_HINT = "leave out the annotation: the argument decides"


def split_annotation(annotation: Any, names: Mapping[str, Any]) -> tuple[type, dict[TreeKey, Any]] | None:
    """The container class and the parts of a nested annotation; None for a leaf."""
    if isinstance(annotation, dict):
        check_keys(annotation, Usage)
        return dict, annotation
    if isinstance(annotation, list):
        return list, {str(k): part for k, part in enumerate(annotation)}
    if isinstance(annotation, tuple) or (get_origin(annotation) is tuple and ... not in get_args(annotation)):
        parts = annotation if isinstance(annotation, tuple) else get_args(annotation)
        return tuple, {str(k): part for k, part in enumerate(parts)}
    generic = get_origin(annotation)
    if generic is not None and (container := split_annotation(generic, names)) is not None:
        substitutes = dict(zip(generic.__parameters__, get_args(annotation), strict=True))
        kind, generic_parts = container
        return kind, {key: substitute_type_variables(part, substitutes) for key, part in generic_parts.items()}
    if is_typeddict(annotation):
        if annotation.__optional_keys__:
            got = f"{annotation.__name__} with the optional keys {', '.join(sorted(annotation.__optional_keys__))}"
            raise Usage("a dict of a program cannot have optional keys", got=got)
        return dict, field_annotations(annotation, names, list(annotation.__annotations__))
    if is_named_tuple(annotation):
        return annotation, field_annotations(annotation, names, annotation._fields)
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        return annotation, field_annotations(
            annotation, names, [field.name for field in dataclasses.fields(annotation) if field.init]
        )
    return None


def substitute_type_variables(annotation: Any, substitutes: Mapping[Any, Any]) -> Any:
    """An annotation in a generic class, with its type variables substituted."""
    if isinstance(annotation, TypeVar):
        return substitutes.get(annotation, annotation)
    variables = getattr(annotation, "__parameters__", ())
    if not variables or isinstance(annotation, type):
        return annotation
    return annotation[tuple(substitutes.get(variable, variable) for variable in variables)]


def field_annotations(kind: type, names: Mapping[str, Any], keys: Sequence[str]) -> dict[TreeKey, Any]:
    """The annotations of a class's fields; strings are resolved in the class's module, then in `names`."""
    module = sys.modules.get(kind.__module__)
    try:
        hints = get_type_hints(kind, {**names, **(vars(module) if module else {})})
    except (NameError, SyntaxError, TypeError, AttributeError) as error:
        raise Usage(f"the annotations of {kind.__name__} cannot be read", got=error) from None
    untyped_keys = [key for key in keys if key not in hints]
    if untyped_keys:
        raise Usage(
            f"field {untyped_keys[0]} of {kind.__name__} has no type", hint="use typing.NamedTuple or a dataclass"
        )
    return {key: hints[key] for key in keys}
