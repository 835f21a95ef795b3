"""Annotations: the parameter and result types that a Python function declares.

This module reads signatures. Annotations nest as values do: in tuples, dicts, TypedDicts, NamedTuples and dataclasses.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, get_args, get_origin, get_type_hints, is_typeddict

from ...dtypes import DType
from ...errors import TagloomError, Usage, plural
from ...program.program import Location
from ...types import Type, as_type
from .pytree import (
    LEAF,
    Static,
    TreeDef,
    TreeType,
    check_rebuildable,
    compound_type,
    describe_difference,
    flatten,
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
    """A Python function to trace, with its parameters and its result type, which is None where it declares none."""

    python_function: Callable[..., Any]
    declared_parameters: tuple[DeclaredParameter, ...]
    result_type: TreeType | None
    static_parameters: frozenset[str] = frozenset()
    """The parameters annotated `tl.Static`: their arguments are never values of the program."""

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

    @property
    def leaf_parameters(self) -> list[tuple[str, Type | None]]:
        """The name and type of every leaf of the parameters; a parameter without annotation counts as one leaf."""
        leaves: list[tuple[str, Type | None]] = []
        for name, form in self.declared_parameters:
            if name in self.static_parameters:
                raise Usage(f"parameter {name} of {self.name} is static: it has no literal", where=self.location)
            leaves += [(name, None)] if form is None else zip(leaf_names(form.treedef, name), form.types, strict=True)
        return leaves

    def unflatten_arguments(self, leaves: Sequence[Any]) -> list[Any]:
        """Nested arguments, from one value for each of `leaf_parameters`."""
        values = iter(leaves)
        return [
            next(values) if form is None else unflatten(form.treedef, [next(values) for _ in form.types])
            for _, form in self.declared_parameters
        ]

    def resolve_types(self, argument_types: Sequence[TreeType | None]) -> tuple[TreeType, ...]:
        """The parameters' types: as annotated, else those of the arguments."""
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
        an argument has another structure than its annotation."""
        self.check_argument_count(len(arguments))
        flattened = [self._flatten_argument(*pair) for pair in zip(self.declared_parameters, arguments, strict=True)]
        for (name, declared), (_, structure) in zip(self.declared_parameters, flattened, strict=True):
            if declared is not None and declared.treedef != structure:
                required, got = describe_difference(declared.treedef, structure)
                raise error(
                    f"argument {name} of {self.name} has another structure",
                    rule="V6",
                    where=user_location(),
                    required=required,
                    got=got,
                    hint="an array is a list" if declared.treedef == LEAF and structure.container is tuple else None,
                )
        return flattened

    def _flatten_argument(self, parameter: DeclaredParameter, argument: object) -> tuple[list[Any], TreeDef]:
        name, declared = parameter
        if name in self.static_parameters:
            return [], static_treedef(argument)
        if argument is ... and declared is not None:
            return [...] * len(declared.types), declared.treedef
        return flatten(argument, by_reference=declared is None)

    def check_argument_count(self, count: int) -> None:
        """Raises Usage for another number of arguments than the function has parameters."""
        if count != len(self.declared_parameters):
            names = ", ".join(f"{name}: {form or '?'}" for name, form in self.declared_parameters)
            raise Usage(
                f"{self.name} takes {plural(len(self.declared_parameters), 'argument')}",
                where=user_location(),
                required=f"{self.name}({names})",
                got=plural(count, "argument"),
                python=TypeError,
            )


def read_function_spec(python: Callable[..., Any], signature: tuple[Any, ...] | None = None) -> FunctionSpec:
    """Read a Python function's parameters and annotations. `Any` counts as no annotation. `signature`, if given,
    replaces the annotations of all parameters. Raises Usage for annotations that are not types."""
    location = definition_location(python.__code__)
    try:
        declared = inspect.signature(python, eval_str=True)
    except (NameError, SyntaxError, TypeError, AttributeError) as error:
        raise Usage(f"the annotations of {python.__name__} cannot be read", where=location, got=error) from None
    for parameter in declared.parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise Usage(
                "the parameters of a tl.function are positional",
                where=location,
                got=str(parameter),
                hint="write a parameter for each argument; a tuple or a dict may hold several",
            )
        if parameter.default is not parameter.empty:
            raise Usage(
                "the parameters of a tl.function have no defaults",
                where=location,
                got=str(parameter),
                hint=f"write {parameter.name} without it, and pass the value in each call",
            )
    names = getattr(python, "__globals__", {})
    annotations = [parameter.annotation for parameter in declared.parameters.values()]
    if signature is not None and len(signature) != len(annotations):
        required, got = plural(len(annotations), "type"), len(signature)
        raise Usage(
            f"the signature of {python.__name__} has another length", where=location, required=required, got=got
        )
    annotations = annotations if signature is None else list(signature)
    owners = (*(f"parameter {name}" for name in declared.parameters), "the result")
    forms = []
    for owner, annotation in zip(owners, (*annotations, declared.return_annotation), strict=True):
        try:
            is_none = annotation in (inspect.Signature.empty, Any, Static, None)
            forms.append(None if is_none else tree_type_of_annotation(annotation, names))
        except TagloomError as error:
            error.where, error.message = location, f"{owner} of {python.__name__}: {error.message}"
            raise
    static = frozenset(
        name for name, annotation in zip(declared.parameters, annotations, strict=True) if annotation is Static
    )
    return FunctionSpec(python, tuple(zip(declared.parameters, forms[:-1], strict=True)), forms[-1], static)


def tree_type_of_annotation(
    annotation: Any, namespace: Mapping[str, Any], enclosing: tuple[object, ...] = ()
) -> TreeType:
    """The tree type of an annotation; annotations written as strings may use the names in `namespace`.

    Raises Usage for an annotation that is not a type, and for a class that contains itself.
    """
    nested = split_annotation(annotation, namespace)
    if nested is None:
        return leaf_type_of_annotation(annotation)
    kind, parts = nested
    depth = sum(kind is (get_origin(outer) or outer) for outer in enclosing if kind is not tuple)
    if any(annotation is outer for outer in enclosing) or depth > MAX_GENERIC_NESTING:
        raise Usage(f"{kind.__name__} contains itself", hint="a value of a program has a fixed structure")
    if kind not in (tuple, dict):
        check_rebuildable(kind, tuple(parts))
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
        error.hint = _ANNOTATION_HINTS.get(get_origin(annotation) or annotation)
        if isinstance(annotation, TypeVar):
            error.hint = "say what it stands for, as in Box[tl.int64] for a generic class Box"
        raise


_ANNOTATION_HINTS: dict[object, str] = {
    tuple: "a tuple has a fixed length, as in tuple[tl.int64, tl.int64]; any number of values is an array, "
    "tl.Array[tl.int64, None]",
    list: "a list is an array, as in tl.Array[tl.int64, None], or write tuple[...] for a fixed number of values",
    dict: "a dict has fixed keys: write a typing.TypedDict",
}
"""What to write instead of annotations that have no fixed structure."""


def split_annotation(annotation: Any, names: Mapping[str, Any]) -> tuple[type, dict[str, Any]] | None:
    """The container class and the parts of a nested annotation; None for a leaf."""
    if isinstance(annotation, dict):
        other_keys = [key for key in annotation if type(key) is not str]
        if other_keys:
            raise Usage("the keys of a dict are not all strings", required="strings", got=repr(other_keys[0]))
        return dict, annotation
    if isinstance(annotation, tuple) or (get_origin(annotation) is tuple and ... not in get_args(annotation)):
        parts = annotation if isinstance(annotation, tuple) else get_args(annotation)
        return tuple, {str(k): part for k, part in enumerate(parts)}
    generic = get_origin(annotation)
    if generic is not None and (nested := split_annotation(generic, names)) is not None:
        substitutes = dict(zip(generic.__parameters__, get_args(annotation), strict=True))
        kind, generic_parts = nested
        return kind, {key: substitute_type_variables(part, substitutes) for key, part in generic_parts.items()}
    if is_typeddict(annotation):
        if annotation.__optional_keys__:
            got = f"{annotation.__name__} leaves out {', '.join(sorted(annotation.__optional_keys__))}"
            raise Usage("a dict of a program has all its keys", got=got)
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


def field_annotations(kind: type, names: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
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
