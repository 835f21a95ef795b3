"""Functions of PyTorch with branches and loops, generated as source text. They compute with arrays of 2 x 3 floats, and
change some in place."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from random import Random
from typing import Any

UNARY = ("torch.sin({})", "torch.tanh({})", "{}.abs()", "-{}", "torch.relu({})", "torch.sigmoid({})",
         "{}.cumsum(1)", "{}.flip(0)", "{}.t().reshape(2, 3)", "{}.roll(1, 1)", "{}.clamp(-1, 1)",
         "{}.sum(1, keepdim=True).expand(2, 3)", "torch.softmax({}, 1)", "{} * 0.5", "{} - 1",
         "{}[[1, 0]]", "{}.sort(1)[0]", "torch.round({})", "torch.cat([{0}, {0}])[1:3]",
         "{}.view(3, 2).t().clone()", "{}.unsqueeze(0).amax(0)")  # fmt: skip
BINARY = ("{} + {}", "{} - {}", "{} * {}", "torch.maximum({}, {})", "torch.where({} > 0, {}, 0.5)",
          "torch.minimum({}, {})", "({} @ {}.t()) @ torch.ones(2, 3) * 0.1", "torch.lerp({}, {}, 0.25)",
          "torch.stack([{}, {}]).mean(0)")  # fmt: skip
CHANGES = ("{0}[0] = {1}[1]", "{0}.add_({1})", "{0}[:, 1:] *= 0.5", "{0}.view(-1)[2] = 3.0",
           "{0}.t()[1].copy_({1}[:, 0])", "{0}[{1} > 1] = 0.25", "{0}.clamp_(-2, 2)", "{0}[1] -= {1}[0]")  # fmt: skip
PREDICATES = ("{}.sum() > 0", "{}[0, 1] < 0.5", "({} > 1).any()", "{}.mean() < {}.mean()")


class ModuleWriter:
    """Writes a function, by the numbers of one generator. A function of a branch or a loop uses only its parameters, as
    PyTorch requires, and returns arrays that are no views of them."""

    def __init__(self, seed: int) -> None:
        self.dice, self.numbers = Random(seed), itertools.count()
        self.lines: list[str] = []

    def write(self) -> str:
        """The source of a function `forward` of two arrays, which uses `torch`, `while_loop` and `scan`."""
        self.lines = ["def forward(a, b):", "  a, b = a.clone(), b.clone()"]
        names = self.block(["a", "b"], "  ", 2, self.dice.randint(3, 8))
        results = self.dice.sample(names, min(len(names), 3))
        self.lines.append(f"  return {', '.join(f'{name} * 1' for name in results)},")
        return "\n".join(self.lines) + "\n"

    def name(self) -> str:
        return f"v{next(self.numbers)}"

    def block(self, names: list[str], indent: str, depth: int, count: int) -> list[str]:
        """Write statements; returns the names that they may use and define."""
        names = list(names)
        for _ in range(count):
            kind = self.dice.choice("uuubbbc" + "il" * bool(depth) + "s" * bool(depth))
            name = self.name()
            if kind == "c" and depth == 2:
                target, source = self.dice.choice(names), self.dice.choice(names)
                self.lines.append(indent + self.dice.choice(CHANGES).format(target, f"{source}.clone()"))
                continue
            match kind:
                case "i":
                    self.branch(name, names, indent, depth)
                case "l":
                    self.loop(name, names, indent, depth)
                case "s":
                    self.scan(name, names, indent, depth)
                case "b":
                    text = self.dice.choice(BINARY).format(self.dice.choice(names), self.dice.choice(names))
                    self.lines.append(f"{indent}{name} = {text}")
                case _:
                    self.lines.append(f"{indent}{name} = {self.dice.choice(UNARY).format(self.dice.choice(names))}")
            names.append(name)
        return names

    def function(self, parameters: list[str], indent: str, depth: int, results: Callable[[list[str]], str]) -> str:
        """Write a function of the parameters; returns its name."""
        name = f"f{next(self.numbers)}"
        self.lines.append(f"{indent}def {name}({', '.join(parameters)}):")
        names = self.block(parameters[-2:], indent + "  ", depth - 1, self.dice.randint(1, 3))
        self.lines.append(f"{indent}  return {results(names[-2:])}")
        return name

    def branch(self, name: str, names: list[str], indent: str, depth: int) -> None:
        operands = [self.dice.choice(names) for _ in range(2)]
        branches = [self.function(["x", "y"], indent, depth, lambda own: f"{own[-1]} * 1") for _ in range(2)]
        text = self.dice.choice(PREDICATES).format(*operands)
        self.lines.append(f"{indent}{name} = torch.cond({text}, {branches[0]}, {branches[1]}, ({', '.join(operands)}))")

    def loop(self, name: str, names: list[str], indent: str, depth: int) -> None:
        """A loop of a few trips, which a condition on the data may end earlier."""
        operands = [self.dice.choice(names) for _ in range(2)]
        limit, step = self.dice.randint(0, 5), self.dice.choice((1, 2, 3))
        test = f"f{next(self.numbers)}"
        self.lines.append(f"{indent}def {test}(i, x, y):")
        more = f" & ({self.dice.choice(PREDICATES[:3]).format('x')})" if self.dice.random() < 0.5 else ""
        self.lines.append(f"{indent}  return (i < {limit}){more}")
        body = self.function(["i", "x", "y"], indent, depth, lambda own: f"i + {step}, {own[-1]} * 1, {own[0]} * 0.5")
        start = f"(torch.tensor({self.dice.randint(0, 2)}), {', '.join(f'{each} * 1' for each in operands)})"
        self.lines.append(f"{indent}{name} = while_loop({test}, {body}, {start})[{self.dice.choice((1, 2))}]")

    def scan(self, name: str, names: list[str], indent: str, depth: int) -> None:
        """A scan over two arrays, whose state is an array. Both results are used: PyTorch cannot save other scans."""
        operands = [self.dice.choice(names) for _ in range(2)]
        body = self.function(["x", "y"], indent, 1, lambda own: f"{own[-1]} * 1, x[0] * y[0]")
        rows = f"torch.stack([{operands[1]}, {operands[1]} * 0.5])"
        pair = self.name(), self.name()
        self.lines.append(f"{indent}{', '.join(pair)} = scan({body}, {operands[0]} * 1, {rows})")
        self.lines.append(f"{indent}{name} = {pair[0]} + {pair[1]}.reshape(2, 3)")


def torch_module(seed: int) -> tuple[str, Callable[..., Any]]:
    """The source of a function, and the function."""
    import torch
    from torch._higher_order_ops import scan, while_loop

    source = ModuleWriter(seed).write()
    namespace: dict[str, Any] = {"torch": torch, "while_loop": while_loop, "scan": scan}
    exec(compile(source, f"<module {seed}>", "exec"), namespace)
    return source, namespace["forward"]
