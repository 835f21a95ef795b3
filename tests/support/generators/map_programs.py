"""Programs that map a program of scalars over arrays, as `vmap` makes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from support.generators.generator import Case, values
from support.generators.scalar_cases import scalar_cases
from tagloom.core import dtypes
from tagloom.core.program.program import FunctionDef, Node, Program, Region, Var
from tagloom.core.types import Type, handle_type
from tagloom.core.value import Literal

_INDEX, _BOOL = Type(dtypes.int64), Type(dtypes.bool)


def map_program(program: Program, count: int) -> Program:
    """The program that calls the entry of a program on each of `count` elements of arrays."""
    main, size, name = program.main, Literal(count, _INDEX), "mapped"
    arrays = tuple(Var(f"a{n}", Type(type_.dtype, (count,))) for n, (_, type_) in enumerate(main.body.parameters))
    handles = tuple(Var(f"c{n}", handle_type(type_)) for n, type_ in enumerate(main.results))
    variables = (Var("k", _INDEX), *handles, *arrays)
    takes = tuple(
        Node("take", (array.name, "k"), (Var(f"x{n}", Type(array.type.dtype)),), (), (("axis", 0),))
        for n, array in enumerate(arrays)
    )
    call = Node(
        "call",
        tuple(take.name for take in takes),
        tuple(Var(f"y{n}", type_) for n, type_ in enumerate(main.results)),
        (),
        (("function", main.name),),
    )
    puts = tuple(
        Node("put", (handle.name, "k", f"y{n}"), (Var(f"p{n}", handle.type),)) for n, handle in enumerate(handles)
    )
    following = Node("add", ("k", Literal(1, _INDEX)), (Var("next", _INDEX),))
    test = Node("less", ("k", size), (Var("less", _BOOL),))
    condition = Region(variables, (test,), ("less",))
    results = ("next", *(put.name for put in puts), *(array.name for array in arrays))
    body = Region(variables, (*takes, call, *puts, following), results)
    cells = tuple(
        Node("cells", (size,), (handle,), (), (("element", type_),))
        for handle, type_ in zip(handles, main.results, strict=True)
    )
    loop = Node(
        "while_loop",
        (Literal(0, _INDEX), *(each.name for each in (*handles, *arrays))),
        tuple(Var(f"loop_{variable.name}", variable.type) for variable in variables),
        (condition, body),
    )
    collects = tuple(
        Node("collect", (f"loop_{handle.name}",), (Var(f"r{n}", Type(type_.dtype, (None,))),))
        for n, (handle, type_) in enumerate(zip(handles, main.results, strict=True))
    )
    region = Region(arrays, (*cells, loop, *collects), tuple(collect.name for collect in collects))
    types = tuple(Type(type_.dtype, (None,)) for type_ in main.results)
    return Program((FunctionDef(name, region, types), *program.functions), name)


@st.composite
def map_cases(draw: Any, max_count: int = 8) -> Case:
    """Generated programs of scalars, mapped over arrays of up to `max_count` elements."""
    case = draw(scalar_cases())
    count = draw(st.integers(1, max_count))
    types = [parameter.type for parameter in case.program.main.body.parameters]
    columns = [
        np.array([case.arguments[n], *(draw(values(type_)) for _ in range(count - 1))], type_.dtype.numpy)
        for n, type_ in enumerate(types)
    ]
    return Case(map_program(case.program, count), columns)
