"""Programs as Python source, for systems that are programmed in Python: NumPy, JAX, PyTorch, TensorFlow.

The source stands alone, and its function `main` takes and returns arrays of the system. A backend of this package runs
this text, and a finding contains it, so users read the code that ran.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ....core import dtypes
from ....core.dtypes import DType
from ....core.program.program import Program, UniqueNames, Var
from ....core.types import Type
from ....core.value import Literal, Value
from .compose import compose, compositions, substitute
from .walker import BoundRegion, OpUse, Refusal, Regions, Scopes, export


@dataclass(frozen=True)
class Dialect:
    """The Python of one system. `cond`, `loop` and `call` are formats of expressions; `{then}`, `{otherwise}`,
    `{condition}` and `{body}` are names of functions that return tuples, `{operands}` is a list of arguments."""

    name: str
    header: str
    constant: str
    cast: str
    dtype: str
    cond: str
    loop: str
    calls_recur: bool
    """Whether a function may call itself: where conds are decided while Python runs, and not when it is traced."""
    entry: str = "main"
    """The function that a script calls: `main`, or `main` compiled."""
    column: str = ""
    """The column of compose.tsv; by default the column with the dialect's name."""
    bfloat16: str = ""
    """The name of bfloat16; NumPy has none."""


EAGER_COND = "{then}({operands}) if {predicate} else {otherwise}({operands})"

NUMPY = Dialect(
    name="numpy",
    header="import numpy as np\n\nnp.seterr(all='ignore')\n",
    constant="{array}",
    cast="np.asarray({operand}).astype({dtype})",
    dtype="np.{name}",
    cond=EAGER_COND,
    loop="_while_loop({condition}, {body}, {operands})",
    calls_recur=True,
)
JAX = Dialect(
    name="jax",
    header=(
        "import jax\nimport jax.numpy as jnp\nimport numpy as np\nfrom jax import lax\n\n"
        "jax.config.update('jax_enable_x64', True)\n"
    ),
    constant="{array}",
    cast="lax.convert_element_type({operand}, {dtype})",
    dtype="np.{name}",
    cond="lax.cond({predicate}, {then}, {otherwise}{comma_operands})",
    loop="lax.while_loop(lambda state: {condition}(*state)[0], lambda state: {body}(*state), ({operands},))",
    calls_recur=False,
    bfloat16="jnp.bfloat16",
    entry="jax.jit(main)",
)
TORCH = Dialect(
    name="torch",
    header="import numpy as np\nimport torch\n",
    constant="torch.from_numpy(np.array({array}))",
    cast="({operand}).to({dtype})",
    dtype="torch.{name}",
    cond=EAGER_COND,
    loop="_while_loop({condition}, {body}, {operands})",
    calls_recur=True,
    bfloat16="torch.bfloat16",
)
TORCH_COMPILED = replace(TORCH, name="torch-compiled", entry="torch.compile(main)", column="torch")
TENSORFLOW = Dialect(
    name="tensorflow",
    header="import numpy as np\nimport tensorflow as tf\n",
    constant="tf.constant({array})",
    cast="tf.cast({operand}, {dtype})",
    dtype="tf.{name}",
    cond="tf.cond({predicate}, lambda: {then}({operands}), lambda: {otherwise}({operands}))",
    loop="tf.while_loop(lambda *state: {condition}(*state)[0], {body}, ({operands},){shapes})",
    calls_recur=True,
    bfloat16="tf.bfloat16",
)
TENSORFLOW_FUNCTION = replace(
    TENSORFLOW,
    name="tensorflow-function",
    entry="tf.function(main)",
    column="tensorflow",
    calls_recur=False,
)
TENSORFLOW_XLA = replace(TENSORFLOW_FUNCTION, name="tensorflow-xla", entry="tf.function(main, jit_compile=True)")
TENSORFLOW_FRAMES = replace(
    TENSORFLOW_FUNCTION,
    name="tensorflow-frames",
    header=(
        "import numpy as np\nimport tensorflow as tf\n\n"
        "tf.compat.v1.disable_control_flow_v2()\n\n\n"
        "def in_session(main):\n"
        "    def run(*arguments):\n"
        "        values = [np.asarray(argument) for argument in arguments]\n"
        "        with tf.Graph().as_default():\n"
        "            inputs = [tf.compat.v1.placeholder(value.dtype, value.shape) for value in values]\n"
        "            results = main(*inputs)\n"
        "            with tf.compat.v1.Session() as session:\n"
        "                return session.run(results, dict(zip(inputs, values)))\n\n"
        "    return run\n"
    ),
    entry="in_session(main)",
)

EAGER_LOOP = """
def _while_loop(condition, body, *state):
    while condition(*state)[0]:
        state = body(*state)
    return state
"""


def to_python(program: Program, dialect: Dialect) -> str:
    """The source of a module whose function `main` computes a program. Raises Refusal where the system cannot express
    it."""
    target = PythonTarget(dialect, program.entry)
    export(program, target, recursion=dialect.calls_recur)
    parts = [dialect.header]
    if dialect.loop.startswith("_while_loop") and target.has_loops:
        parts.append(EAGER_LOOP)
    parts.extend(f"\n{function}" for function in target.functions)
    entry = target.function_name(program.entry)
    if entry != "main":
        parts.append(f"\nmain = {entry}\n")
    return "\n".join(parts)


def to_script(program: Program, dialect: Dialect, arguments: Sequence[Value], results: Sequence[Value | None]) -> str:
    """A script that computes a program, prints its results, and exits with 1 unless they are these, signs of zeros
    included. Raises Refusal where the system cannot express the program or a value."""
    constants = [constant_expression(dialect, np.asarray(value)) for value in arguments]
    required = [numpy_expression(np.asarray(value)) for value in results]
    return (
        f"{to_python(program, dialect)}\n\n"
        f"results = [np.asarray(result) for result in {dialect.entry}({', '.join(constants)})]\n"
        f"required = [{', '.join(required)}]\n"
        "for result, right in zip(results, required, strict=True):\n"
        "    print(result, 'and', right, 'is right')\n"
        "    np.testing.assert_array_equal(result, right, strict=True)\n"
        "    if result.dtype.kind == 'f':\n"
        "        np.testing.assert_array_equal(np.signbit(result) & (result == 0), np.signbit(right) & (right == 0))\n"
    )


NO_BFLOAT16 = "NumPy has no bfloat16"
RESERVED_NAMES = ("main", "np", "jnp", "jax", "lax", "torch", "tf", "state", "in_session", "_while_loop")
"""Names that the generated source of some system uses for other things. `main` is the entry function."""


class PythonTarget:
    """Writes statements. A value is an expression: a name or a constant."""

    def __init__(self, dialect: Dialect, entry: str) -> None:
        self.dialect, self.has_loops = dialect, False
        self.functions: list[str] = []
        self.table = compositions(dialect.column or dialect.name)
        self.names = UniqueNames([*keyword.kwlist, *dir(builtins), *RESERVED_NAMES])
        self.function_names = {"main": "main"} if entry == "main" else {}
        self.scopes = Scopes[str]()

    def function_name(self, name: str) -> str:
        """The name in Python of a function of the program."""
        if name not in self.function_names:
            self.function_names[name] = self.identifier(name)
        return self.function_names[name]

    def identifier(self, name: str) -> str:
        """A new name in Python."""
        word = re.sub(r"\W", "_", name)
        return self.names.fresh_name(word if word.isidentifier() else f"_{word}")

    def assign(self, results: Sequence[Var], expression: str, *, unpack: bool) -> list[str]:
        """Append an assignment to the current scope."""
        names = [self.identifier(result.name) for result in results]
        self.scopes.append(f"{', '.join(names)}{',' * (unpack and len(names) == 1)} = {expression}")
        return names

    def constant(self, literal: Literal) -> str:
        return constant_expression(self.dialect, np.asarray(literal.value))

    def cast(self, operand: str, source: Type, dtype: DType) -> str:
        return self.dialect.cast.format(operand=operand, dtype=dtype_expression(self.dialect, dtype))

    def op(self, use: OpUse, operands: Sequence[str]) -> str:
        expression = compose(self.table, use)
        attributes = {
            name: dtype_expression(self.dialect, value)
            if isinstance(value, DType)
            else value
            if name == "key"
            else repr(value)
            for name, value in use.attributes.items()
        }
        attributes["dtype"] = dtype_expression(self.dialect, use.result.type.dtype)
        axis = use.attributes.get("axis")
        attributes["dims"] = repr(axis if isinstance(axis, tuple) else () if axis is None else (axis,))
        text = ast.unparse(substitute(expression, operands, attributes))
        return self.assign([use.result], text, unpack=False)[0]

    def cond(self, results: Sequence[Var], predicate: str, operands: Sequence[str], branches: Regions) -> list[str]:
        then, otherwise = (
            self.define(f"{results[0].name}_{word}", branch)
            for word, branch in zip(("then", "else"), branches, strict=True)
        )
        text = self.dialect.cond.format(
            predicate=predicate,
            then=then,
            otherwise=otherwise,
            operands=", ".join(operands),
            comma_operands="".join(f", {operand}" for operand in operands),
        )
        return self.assign(results, text, unpack=True)

    def loop(self, results: Sequence[Var], starts: Sequence[str], regions: Regions) -> list[str]:
        self.has_loops = True
        condition, body = (
            self.define(f"{results[0].name}_{word}", region)
            for word, region in zip(("while", "do"), regions, strict=True)
        )
        shapes = shape_invariants(regions[1].parameters)
        text = self.dialect.loop.format(condition=condition, body=body, operands=", ".join(starts), shapes=shapes)
        return self.assign(results, text, unpack=True)

    def call(self, results: Sequence[Var], function: str, operands: Sequence[str]) -> list[str]:
        return self.assign(results, f"{self.function_name(function)}({', '.join(operands)})", unpack=True)

    def function(self, name: str, body: BoundRegion) -> None:
        self.functions.append("\n".join(self.definition(self.function_name(name), body)) + "\n")

    def define(self, name: str, region: BoundRegion) -> str:
        """Define a region as a function of the current scope; returns its name."""
        function = self.identifier(name)
        self.scopes.append(*self.definition(function, region))
        return function

    def definition(self, name: str, region: BoundRegion) -> list[str]:
        """The lines of the definition of a function."""
        parameters = [self.identifier(parameter.name) for parameter in region.parameters]
        with self.scopes.open() as statements:
            results = region.write(parameters)
        body = [*statements, f"return ({', '.join(results)},)"]
        return [f"def {name}({', '.join(parameters)}):", *(f"    {line}" for line in body)]


def shape_invariants(variables: Sequence[Var]) -> str:
    """The argument `shape_invariants` of a loop of TensorFlow, if sizes of loop variables may change; else empty."""
    shapes = [variable.type.shape for variable in variables]
    if all(shape is not None and None not in shape for shape in shapes):
        return ""
    texts = [f"tf.TensorShape({None if shape is None else list(shape)})" for shape in shapes]
    return f", shape_invariants=({', '.join(texts)},)"


def dtype_expression(dialect: Dialect, dtype: DType) -> str:
    """A dtype, as a system names it; raises Refusal for a dtype that it does not have."""
    if dtype is dtypes.bfloat16:
        if not dialect.bfloat16:
            raise Refusal("dtype", NO_BFLOAT16)
        return dialect.bfloat16
    name = "bool_" if repr(dtype) == "bool" and dialect.dtype.startswith("np.") else repr(dtype)
    return dialect.dtype.format(name=name)


def constant_expression(dialect: Dialect, array: np.ndarray) -> str:
    """An array as an expression of a system; one of bfloat16 is converted from float32."""
    if array.dtype != dtypes.bfloat16.numpy:
        return dialect.constant.format(array=numpy_expression(array))
    wide = dialect.constant.format(array=numpy_expression(array.astype(np.float32)))
    return dialect.cast.format(operand=wide, dtype=dtype_expression(dialect, dtypes.bfloat16))


def numpy_expression(array: np.ndarray) -> str:
    """An array as a NumPy expression that has its bits. Raises Refusal for bfloat16.

    >>> numpy_expression(np.array([1.5, np.nan], np.float32)), numpy_expression(np.asarray(True))
    ("np.array([1.5, float('nan')], np.float32)", 'np.bool_(True)')
    """
    if array.dtype == dtypes.bfloat16.numpy:
        raise Refusal("dtype", NO_BFLOAT16)
    dtype = "np.bool_" if array.dtype.kind == "b" else f"np.{array.dtype.name}"
    elements = re.sub(r"\b(nan|inf)\b", r"float('\1')", repr(array.tolist()))
    if array.ndim == 0:
        return f"{dtype}({elements})"
    shape = f".reshape({array.shape})" if array.size == 0 else ""
    return f"np.array({elements}, {dtype}){shape}"
