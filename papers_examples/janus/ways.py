"""Three ways to run the steps of a model: as Python, under `tl.function`, and speculated; where they differ first.

    python papers_examples/janus/ways.py [NAME...]

Each program has `make`, which makes a model, `inputs`, the arguments of a step by its number, and a class whose method
`step` trains it and returns a number. `tl.function` traces a step once for each model: what Python does to attributes
happens while it traces, and not again.
"""

import importlib
import sys
from pathlib import Path

import tagloom as tl

PROGRAMS = ("lenet", "resnet", "lstm", "language_model", "tree_lstm", "gan", "a3c", "ppo", "pix2pix")
STEPS = 8


def state(value):
    """The numbers in a model, by their paths, without what is made anew in each process."""
    if isinstance(value, dict):
        return {f".{key}{path}": leaf for key, each in value.items() for path, leaf in state(each).items()}
    if isinstance(value, list):
        return {f"[{k}]{path}": leaf for k, each in enumerate(value) for path, leaf in state(each).items()}
    if hasattr(value, "__dict__"):
        return state({key: each for key, each in vars(value).items() if key != "_names"})
    if isinstance(value, tl.Variable):
        value = value.value
    return {"": value}


def is_close(one, other):
    """Whether two values of a state are equal, or close if they are floats."""
    if not isinstance(one, float | type(tl.asarray(0.0))):
        return type(one) is type(other) and one == other
    try:
        one, other = tl.asarray(one, dtype=tl.float64), tl.asarray(other, dtype=tl.float64)
        return one.shape == other.shape and bool(tl.all(tl.abs(one - other) <= 1e-9 * (1.0 + tl.abs(other))))
    except tl.TagloomError:  # a value of a trace, which an attribute has kept
        return False


def first_difference(module, step, steps=STEPS):
    """Where a way to run a step first differs from Python, in words; None where it does not."""
    model, python_model = module.make(), module.make()
    python = type(model).step
    for number in range(steps):
        inputs = module.inputs(number)
        expected = python(python_model, *inputs)
        try:
            result = step(model, *inputs)
        except tl.TagloomError as error:
            return f"step {number + 1}: {type(error).__name__}: {str(error).splitlines()[0]}"
        if not is_close(result, expected):
            return f"step {number + 1} returns another loss"
        one, other = state(model), state(python_model)
        for path, value in other.items():
            if path not in one or not is_close(one[path], value):
                return f"step {number + 1}: model{path} is not that of Python"
    return None


def staged(module):
    """A step under `tl.function`, which captures the model of the first call."""
    functions = {}

    def step(model, *inputs):
        if id(model) not in functions:
            functions[id(model)] = tl.function(lambda *inputs: type(model).step(model, *inputs))
        return functions[id(model)](*inputs)

    return step


def main(names):
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    for name in names or PROGRAMS:
        module = importlib.import_module(name)
        speculated = tl.speculate(type(module.make()).step)
        print(f"{name}, speculated:  {first_difference(module, speculated) or 'as Python'}; {speculated.counts}")
        print(f"{name}, tl.function: {first_difference(module, staged(module)) or 'as Python'}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
