"""Generated Python programs, as source text: what the front end converts, and Python runs as it is.

A program is a module with helper functions, a class, recursive functions and `f(n, m, p)`, of two ints and a bool.
Variables keep their types; loops are short and recursion is bounded, so every program ends; sums are reduced, so that
no int leaves 64 bits. Programs raise exceptions, divide by zero, and print.
"""

from __future__ import annotations

import hashlib
import runpy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from hypothesis import strategies as st

Number: TypeAlias = Callable[[int, int], int]
"""Chooses an int between two, both included; examples shrink to the first."""
Inputs: TypeAlias = tuple[int, int, bool]


class PythonProgram(NamedTuple):
    """The text of a module that defines `f`, and arguments of `f`."""

    text: str
    inputs: tuple[Inputs, ...]


@dataclass
class Names:
    """The variables that are assigned where a statement stands, by type, and what may be called there."""

    ints: list[str] = field(default_factory=list)
    bools: list[str] = field(default_factory=list)
    floats: list[str] = field(default_factory=list)
    lists: dict[str, int] = field(default_factory=dict)
    """Lists of ints, with their lengths."""
    objects: list[str] = field(default_factory=list)
    pairs: list[str] = field(default_factory=list)
    counters: list[str] = field(default_factory=list)
    """Ints that the program must not assign, since they bound a loop."""
    functions: dict[str, int] = field(default_factory=dict)
    """Functions that return an int, with the number of their parameters, all ints."""
    actions: list[str] = field(default_factory=list)
    """Functions without parameters that return nothing."""
    outer_ints: list[str] = field(default_factory=list)
    """Nonlocal ints, which are assigned."""
    generators: list[str] = field(default_factory=list)
    """Generator functions of an int, whose items are ints."""

    def copy(self) -> Names:
        """The same names, for a block: what it assigns is not assigned after it."""
        return Names(
            list(self.ints),
            list(self.bools),
            list(self.floats),
            dict(self.lists),
            list(self.objects),
            list(self.pairs),
            list(self.counters),
            dict(self.functions),
            list(self.actions),
            list(self.outer_ints),
            list(self.generators),
        )

    def meet(self, one: Names, other: Names) -> None:
        """Add what two blocks assign both."""
        for kind in ("ints", "bools", "floats", "objects", "pairs"):
            own, first, second = (getattr(each, kind) for each in (self, one, other))
            own += [name for name in first if name in second and name not in own]


@dataclass
class Context:
    """What is around a block."""

    returns: str | None
    """The kind of what the function returns; None in a block that must not return."""
    loops: int = 0
    """The number of loops around."""
    can_break: bool = False
    """Whether `break` and `continue` may stand here."""
    depth: int = 0


class Writer:
    """Writes a program, statement by statement."""

    def __init__(self, number: Number, size: int) -> None:
        self.number, self.budget = number, size
        self.lines: list[str] = []
        self.numbers: dict[str, int] = {}

    def pick(self, options: Sequence[Any]) -> Any:
        """One of these; examples shrink to the first."""
        return options[self.number(0, len(options) - 1)] if len(options) > 1 else options[0]

    def chance(self, one_in: int) -> bool:
        """Whether something rare happens."""
        return self.number(1, one_in) == one_in

    def fresh_name(self, prefix: str) -> str:
        """A new name."""
        self.numbers[prefix] = self.numbers.get(prefix, -1) + 1
        return f"{prefix}{self.numbers[prefix] or ''}"

    def write(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line)

    # Expressions

    def integer(self, names: Names, depth: int = 2) -> str:
        """An expression of an int."""
        ints = names.ints + names.counters + names.outer_ints
        simple = [str(self.number(0, 4))] if not ints or self.chance(3) else [self.pick(ints)]
        if depth == 0 or self.chance(3):
            return simple[0]
        forms = ["sum", "difference", "product", "quotient", "remainder", "negative", "choice", "and", "or", "extreme"]
        forms += ["walrus", "truth", "power"]
        forms += ["item", "length", "computed item", "sorted"] if names.lists else []
        forms += ["generator", "counted", "bits"] if self.chance(2) else []
        forms += ["handed over"] * 2 if names.generators else []
        forms += ["attribute", "method"] if names.objects else []
        forms += ["call"] * 2 if names.functions else []
        forms += ["pair"] if names.pairs else []
        forms += ["divide", "lambda", "any"] if self.chance(4) else []
        one = lambda: self.integer(names, depth - 1)  # noqa: E731
        match self.pick(forms):
            case "sum":
                return f"({one()} + {one()}) % {self.pick([50, 7, 97])}"
            case "difference":
                return f"({one()} - {one()}) % {self.pick([50, 7, -9])}"
            case "product":
                return f"({one()} * {one()}) % {self.pick([50, 11])}"
            case "quotient":
                return f"({one()}) // {self.pick([2, 3, -2])}"
            case "remainder":
                return f"({one()}) % {self.pick([2, 3, -4])}"
            case "negative":
                return f"-({one()})"
            case "choice":
                return f"({one()} if {self.truth(names, depth - 1)} else {one()})"
            case "and":
                return f"({one()} and {one()})"
            case "or":
                return f"({one()} or {one()})"
            case "extreme":
                return f"{self.pick(['max', 'min'])}({one()}, {one()})"
            case "walrus":
                names_now = list(names.ints)
                value = one()
                target = self.pick([*names_now, self.fresh_name("w")])
                if target not in names.ints:
                    return f"({target} := {value})"
                return f"({target} := {value})"
            case "truth":
                return f"int({self.truth(names, depth - 1)})"
            case "power":
                return f"(({one()}) % 5) ** 2"
            case "item":
                name = self.pick(list(names.lists))
                return f"{name}[{self.number(0, names.lists[name] - 1)}]"
            case "computed item":
                name = self.pick(list(names.lists))
                return f"{name}[({one()}) % {names.lists[name]}]"
            case "sorted":
                return f"sorted({self.pick(list(names.lists))})[0]"
            case "generator":
                consumer = self.pick(["sum", "any", "all", "max"])
                own = Names(ints=list(names.ints), counters=["g"])
                condition = f" if {self.truth(own, 0)}" if consumer != "max" and self.chance(2) else ""
                small = f"{self.integer(names, 0)} % 4" + (" + 1" if consumer == "max" else "")
                return f"int({consumer}({self.integer(own, 1)} for g in range({small}){condition})) % 50"
            case "handed over":
                items = f"{self.pick(names.generators)}({self.integer(names, 0)} % 4)"
                form = self.pick(["sum({0})", "len(list({0}))", "max({0}, default=1)", "any(g > 2 for g in {0})"])
                return f"int({form.format(items)}) % 50"
            case "counted":
                kind = self.pick(["enumerate(range({0}), 2)", "zip(range({0}), range(2, 6))"])
                return f"sum(g * h for g, h in {kind.format(f'{self.integer(names, 0)} % 4')})"
            case "bits":
                return f"(({one()}) % 9).bit_length()"
            case "length":
                return f"len({self.pick(list(names.lists))})"
            case "attribute":
                return f"{self.pick(names.objects)}.{self.pick(['v', 'w'])}"
            case "method":
                return f"{self.pick(names.objects)}.bump({one()})"
            case "call":
                name = self.pick(list(names.functions))
                return f"{name}({', '.join(one() for _ in range(names.functions[name]))})"
            case "pair":
                return f"{self.pick(names.pairs)}[{self.number(0, 1)}]"
            case "divide":
                return f"({one()}) {self.pick(['//', '%'])} ({one()})"
            case "lambda":
                return f"(lambda a: {self.integer(Names(ints=['a', *ints]), depth - 1)})({one()})"
            case "any":
                return f"int({self.pick(['any', 'all'])}([{self.truth(names, 1)}, {self.truth(names, 1)}]))"
        raise AssertionError

    def truth(self, names: Names, depth: int = 2) -> str:
        """An expression of a bool."""
        one = lambda: self.integer(names, min(depth, 1))  # noqa: E731
        relation = lambda: self.pick(["<", ">", "<=", ">=", "==", "!="])  # noqa: E731
        forms = ["compare", "parity"] + (["variable"] if names.bools else [])
        if depth:
            forms += ["chain", "not", "and", "or", "in", "bool", "choice"]
        match self.pick(forms):
            case "compare":
                return f"{one()} {relation()} {one()}"
            case "parity":
                return f"{one()} % 2 == 0"
            case "variable":
                return str(self.pick(names.bools))
            case "chain":
                return f"({one()} {relation()} {one()} {relation()} {one()})"
            case "not":
                return f"(not {self.truth(names, depth - 1)})"
            case "and":
                return f"({self.truth(names, depth - 1)} and {self.truth(names, depth - 1)})"
            case "or":
                return f"({self.truth(names, depth - 1)} or {self.truth(names, depth - 1)})"
            case "in":
                return f"({one()} {self.pick(['in', 'not in'])} ({one()}, {one()}, 2))"
            case "bool":
                return f"bool({one()})"
            case "choice":
                return f"({self.truth(names, 0)} if {self.truth(names, depth - 1)} else {self.truth(names, 0)})"
        raise AssertionError

    def real(self, names: Names) -> str:
        """An expression of a float."""
        forms = ["half", "cast"] + (["variable", "sum"] if names.floats else [])
        match self.pick(forms):
            case "half":
                return f"float({self.integer(names, 1)}) * 0.5"
            case "cast":
                return f"float({self.integer(names, 1)})"
            case "variable":
                return str(self.pick(names.floats))
            case "sum":
                return f"{self.pick(names.floats)} * 0.25 + float({self.integer(names, 0)})"
        raise AssertionError

    def result(self, kind: str, names: Names) -> str:
        """An expression of the kind that a function returns."""
        match kind:
            case "int":
                return self.integer(names)
            case "pair":
                return f"({self.integer(names)}, {self.truth(names)})"
            case "float":
                return f"({self.real(names)}, {self.integer(names)})"
        raise AssertionError

    # Statements

    def block(self, indent: int, names: Names, context: Context, most: int = 3) -> bool:
        """One statement at least; whether the end of the block may be reached."""
        for _ in range(self.number(1, most)):
            if not self.statement(indent, names, context):
                return False
            if self.budget <= 0:
                break
        return True

    def statement(self, indent: int, names: Names, context: Context) -> bool:
        self.budget -= 1
        forms = ["assign", "augment", "print", "print"]
        forms += ["assign bool", "assign float", "swap", "list", "object", "pair", "closure", "assert", "delete"]
        forms += ["set item", "augment item"] if names.lists else []
        forms += ["set attribute", "augment attribute"] * 2 if names.objects else []
        forms += ["action"] * 4 if names.actions else []
        forms += (
            ["list", "object", "object", "closure", "closure", "closure", "recursion", "recursion", "generator"]
            if context.depth == 0
            else []
        )
        if context.depth < 4 and self.budget > 0:
            forms += ["if"] * 7 + ["guard"] * 3 + ["match", "try", "with"]
            if context.loops < 3:
                forms += ["for"] * 4 + ["while"] * 4
        if context.can_break:
            forms += ["exit if"] * 4
        method = getattr(self, "write_" + self.pick(forms).replace(" ", "_"))
        return bool(method(indent, names, context))

    def write_assign(self, indent: int, names: Names, context: Context) -> bool:
        value = self.integer(names)
        target = self.pick([*names.ints, *names.outer_ints, self.fresh_name("a")])
        self.write(indent, f"{target} = {value}")
        if target not in names.ints and target not in names.outer_ints:
            names.ints.append(target)
        return True

    def write_assign_bool(self, indent: int, names: Names, context: Context) -> bool:
        value = self.truth(names)
        target = self.pick([*names.bools, self.fresh_name("b")])
        self.write(indent, f"{target} = {value}")
        if target not in names.bools:
            names.bools.append(target)
        return True

    def write_assign_float(self, indent: int, names: Names, context: Context) -> bool:
        value = self.real(names)
        target = self.pick([*names.floats, self.fresh_name("x")])
        self.write(indent, f"{target} = {value}")
        if target not in names.floats:
            names.floats.append(target)
        return True

    def step(self, names: Names) -> str:
        """A small int, which may be added many times."""
        return self.pick([str(self.number(1, 4)), f"({self.integer(names, 1)}) % 5"])

    def write_augment(self, indent: int, names: Names, context: Context) -> bool:
        targets = [*names.ints, *names.outer_ints]
        if not targets:
            return self.write_assign(indent, names, context)
        target = self.pick(targets)
        operators = ["+=", "-=", "%="] + (["*=", "//="] if context.loops == 0 and target in names.ints else [])
        operator = self.pick(operators)
        value = self.step(names) if operator in ("+=", "-=") else str(self.number(2, 9))
        self.write(indent, f"{target} {operator} {value}")
        return True

    def write_print(self, indent: int, names: Names, context: Context) -> bool:
        text = self.pick(
            [
                f'"{self.fresh_name("line")}"',
                f'f"t{{{self.integer(names, 0)}}}"',
                f'f"{{{self.integer(names, 0)}:3d}}"',
                self.truth(names, 0),
            ]
        )
        end = f", end={self.pick([' ', '', '.'])!r}" if self.chance(4) else ""
        self.write(indent, f"print({text}, {self.integer(names, 1)}{end})")
        return True

    def write_swap(self, indent: int, names: Names, context: Context) -> bool:
        if len(names.ints) < 2:
            return self.write_assign(indent, names, context)
        one, other = names.ints[0], self.pick(names.ints[1:])
        self.write(indent, f"{one}, {other} = {other}, {self.integer(names, 1)}")
        return True

    def write_list(self, indent: int, names: Names, context: Context) -> bool:
        name, length = self.fresh_name("xs"), self.number(2, 3)
        self.write(indent, f"{name} = [{', '.join(self.integer(names, 1) for _ in range(length))}]")
        if context.depth == 0:
            names.lists[name] = length
        return True

    def write_set_item(self, indent: int, names: Names, context: Context) -> bool:
        name = self.pick(list(names.lists))
        self.write(indent, f"{name}[{self.number(0, names.lists[name] - 1)}] = {self.integer(names, 1)}")
        return True

    def write_augment_item(self, indent: int, names: Names, context: Context) -> bool:
        name = self.pick(list(names.lists))
        self.write(indent, f"{name}[{self.number(0, names.lists[name] - 1)}] += {self.step(names)}")
        return True

    def write_object(self, indent: int, names: Names, context: Context) -> bool:
        if context.depth:
            return self.write_augment(indent, names, context)
        name = self.fresh_name("o")
        self.write(indent, f"{name} = {self.pick([f'Box({self.integer(names, 1)})', *names.objects])}")
        names.objects.append(name)
        return True

    def write_set_attribute(self, indent: int, names: Names, context: Context) -> bool:
        self.write(indent, f"{self.pick(names.objects)}.{self.pick(['v', 'w'])} = {self.integer(names, 1)}")
        return True

    def write_augment_attribute(self, indent: int, names: Names, context: Context) -> bool:
        self.write(indent, f"{self.pick(names.objects)}.{self.pick(['v', 'w'])} += {self.step(names)}")
        return True

    def write_pair(self, indent: int, names: Names, context: Context) -> bool:
        name = self.fresh_name("t")
        self.write(indent, f"{name} = ({self.integer(names, 1)}, {self.integer(names, 1)})")
        names.pairs.append(name)
        return True

    def write_action(self, indent: int, names: Names, context: Context) -> bool:
        self.write(indent, f"{self.pick(names.actions)}()")
        return True

    def write_assert(self, indent: int, names: Names, context: Context) -> bool:
        message = f', "{self.fresh_name("claim")}"' if self.chance(2) else ""
        self.write(indent, f"assert {self.integer(names, 1)} < {self.number(5, 60)}{message}")
        return True

    def write_delete(self, indent: int, names: Names, context: Context) -> bool:
        if context.depth or len(names.ints) < 4:
            return self.write_augment(indent, names, context)
        name = names.ints.pop()
        self.write(indent, f"del {name}")
        return True

    def write_closure(self, indent: int, names: Names, context: Context) -> bool:
        if context.depth:
            return self.write_assign(indent, names, context)
        own = Names(ints=[], functions=dict(names.functions))
        if names.ints and not self.chance(3):
            name, target = self.fresh_name("act"), self.pick(names.ints)
            self.write(indent, f"def {name}():")
            self.write(indent + 1, f"nonlocal {target}")
            own.outer_ints = [target]
            self.write(indent + 1, f"{target} += {self.step(own)}")
            self.block(indent + 1, own, Context(None, loops=2, depth=3), 2)
            names.actions.append(name)
        else:
            name = self.fresh_name("inner")
            own.ints, own.counters = ["k"], list(names.ints[:2])
            self.write(indent, f"def {name}(k):")
            self.block(indent + 1, own, Context("int", loops=1, depth=2), 2)
            self.write(indent + 1, f"return {self.integer(own)}")
            names.functions[name] = 1
        return True

    def write_recursion(self, indent: int, names: Names, context: Context) -> bool:
        """A recursive function that changes variables, lists and dicts around it, and a call of it."""
        if context.depth:
            return self.write_assign(indent, names, context)
        name, log, table = self.fresh_name("down"), self.fresh_name("log"), self.fresh_name("table")
        own = Names(ints=["a"], counters=["k"], functions=dict(names.functions))
        outer = [each for each in names.ints if each != "a"]  # a is a parameter
        own.outer_ints = [self.pick(outer)] if outer and not self.chance(3) else []
        self.write(indent, f"{log}, {table} = [], {{}}")
        self.write(indent, f"def {name}(k, a):")
        if own.outer_ints:
            self.write(indent + 1, f"nonlocal {own.outer_ints[0]}")

        def change() -> None:
            forms = [f"{log}.append({self.integer(own, 1)})", f"{table}[k] = {self.integer(own, 1)}"]
            forms += [f"{table}[a % 3] = {table}.get(a % 3, 0) + 1", f"{log}.append(len({log}))"]
            if own.outer_ints:
                forms += [f"{own.outer_ints[0]} = ({own.outer_ints[0]} + {self.step(own)}) % 50"] * 3
            if names.lists:
                target = self.pick(list(names.lists))
                forms.append(f"{target}[a % {names.lists[target]}] = {self.integer(own, 1)}")
            self.write(indent + 1, self.pick(forms))

        def call() -> str:
            return f"{name}(k - {self.number(1, 2)}, {self.integer(own, 1)} % 20)"

        if self.chance(2):
            change()
        self.write(indent + 1, "if k <= 0:")
        self.write(indent + 2, f"return {self.integer(own, 1)}")
        if self.chance(2):
            self.write(indent + 1, f"if {self.truth(own, 1)}:")
            self.write(indent + 2, f"a = {call()}")
        change()
        if self.chance(2):
            self.block(indent + 1, own, Context("int", loops=2, depth=3), 1)
        self.write(indent + 1, f"return ({call()} + {self.integer(own, 1)}) % 50")
        target = self.fresh_name("a")
        self.write(indent, f"{target} = {name}({self.integer(names, 1)} % {self.number(2, 5)}, {self.number(0, 9)})")
        names.ints.append(target)
        for seen in (f"sum({log}) % 50", f"sum({table}.values()) % 50", f"{name}(2, {self.integer(names, 1)} % 20)"):
            if self.chance(2):
                target = self.fresh_name("a")
                self.write(indent, f"{target} = {seen}")
                names.ints.append(target)
        return True

    def write_generator(self, indent: int, names: Names, context: Context) -> bool:
        """A generator function."""
        if context.depth:
            return self.write_assign(indent, names, context)
        name = self.fresh_name("items")
        own = Names(ints=["a"], counters=["k"], functions=dict(names.functions))
        outer = [each for each in names.ints if each != "a"]  # a is a variable
        own.outer_ints = [self.pick(outer)] if outer and self.chance(3) else []

        def write_yield(depth: int) -> None:
            form = self.pick(["yield", "yield", "if", "from", "print"])
            if form == "if":
                self.write(depth, f"if {self.truth(own, 1)}:")
                self.write(depth + 1, f"yield {self.integer(own, 1)}")
            elif form == "from":
                self.write(
                    depth,
                    f"yield from {self.pick(['range(k % 3)', '(a, k)', *(f'{n}(a % 3)' for n in own.generators)])}",
                )
            else:
                if form == "print":
                    self.write(depth, f"print({self.integer(own, 0)})")
                self.write(depth, f"yield {self.integer(own, 1)}")

        own.generators = list(names.generators)
        self.write(indent, f"def {name}(k):")
        if own.outer_ints:
            self.write(indent + 1, f"nonlocal {own.outer_ints[0]}")
        self.write(indent + 1, f"a = {self.number(0, 3)}")
        if self.chance(2):
            write_yield(indent + 1)
        self.write(indent + 1, self.pick(["while a < k:", "for a in range(k):"]))
        if self.chance(3):
            self.write(indent + 2, f"if {self.truth(own, 1)}:")
            self.write(indent + 3, "return" if self.chance(2) else "break")
        write_yield(indent + 2)
        self.write(indent + 2, "a += 1")
        if self.chance(2):
            write_yield(indent + 1)
        names.generators.append(name)
        return True

    def write_if(self, indent: int, names: Names, context: Context) -> bool:
        inner = Context(context.returns, context.loops, context.can_break, context.depth + 1)
        self.write(indent, f"if {self.truth(names)}:")
        branches = [names.copy()]
        ends = [self.block(indent + 1, branches[0], inner) and self.maybe_exit(indent + 1, branches[0], inner)]
        while self.chance(4):
            self.write(indent, f"elif {self.truth(names)}:")
            branches.append(names.copy())
            ends.append(
                self.block(indent + 1, branches[-1], inner, 2) and self.maybe_exit(indent + 1, branches[-1], inner)
            )
        if self.chance(2):
            self.write(indent, "else:")
            branches.append(names.copy())
            ends.append(
                self.block(indent + 1, branches[-1], inner) and self.maybe_exit(indent + 1, branches[-1], inner)
            )
        else:
            branches.append(names.copy())
            ends.append(True)
        open_branches = [branch for branch, end in zip(branches, ends, strict=True) if end]
        for branch in open_branches[:1]:
            common = branch
            for other in open_branches[1:]:
                merged = names.copy()
                merged.meet(common, other)
                common = merged
            names.meet(common, common)
        return any(ends)

    def maybe_exit(self, indent: int, names: Names, context: Context) -> bool:
        """Perhaps an exit at the end of a branch; whether the end is reached."""
        if not self.chance(4):
            return True
        return self.exit(indent, names, context)

    def exit(self, indent: int, names: Names, context: Context) -> bool:
        """An exit, if one may stand here."""
        exits = ["break", "continue"] if context.can_break else []
        exits += ["return", "raise"] if context.returns else []
        if not exits:
            return True
        match self.pick(exits):
            case "return":
                self.write(indent, f"return {self.result(str(context.returns), names)}")
            case "raise":
                kind = self.pick(["ValueError", "KeyError", "IndexError"])
                self.write(indent, f'raise {kind}("{self.fresh_name("fault")}")')
            case word:
                self.write(indent, word)
        return False

    def write_guard(self, indent: int, names: Names, context: Context) -> bool:
        if context.returns is None and not context.can_break:
            return self.write_if(indent, names, context)
        self.write(indent, f"if {self.truth(names)}:")
        inner = Context(context.returns, context.loops, context.can_break, context.depth + 1)
        self.exit(indent + 1, names.copy(), inner)
        return True

    write_exit_if = write_guard

    def write_for(self, indent: int, names: Names, context: Context) -> bool:
        target = self.pick([self.fresh_name("i"), *names.ints])
        small = f"({self.integer(names, 1)}) % {self.number(2, 4)}"
        kinds = ["range", "range", "bounds", "step", "down", "items", "list"] + ["generator"] * 4 * bool(
            names.generators
        )
        match self.pick(kinds):
            case "generator":
                items = f"{self.pick(names.generators)}({small})"
            case "range":
                items = f"range({small})"
            case "bounds":
                items = f"range({self.integer(names, 0)} % 3, {small})"
            case "step":
                items = f"range({self.number(0, 3)}, {self.integer(names, 0)} % 7, {self.number(1, 3)})"
            case "down":
                items = f"range({small}, {self.number(-1, 1)}, -{self.number(1, 2)})"
            case "items":
                items = f"({self.integer(names, 1)}, {self.integer(names, 1)})"
            case _:
                items = str(self.pick(list(names.lists))) if names.lists else f"range({small})"
        self.write(indent, f"for {target} in {items}:")
        inner = names.copy()
        if target not in inner.ints:
            inner.ints.append(target)
        self.loop_body(indent, inner, context)
        return self.loop_else(indent, names, context)

    def write_while(self, indent: int, names: Names, context: Context) -> bool:
        counter = self.fresh_name("c")
        self.write(indent, f"{counter} = ({self.integer(names, 1)}) % {self.number(2, 4)}")
        inner = names.copy()
        inner.counters.append(counter)
        match self.pick(["plain", "and", "true", "walrus", "last"]):
            case "plain":
                self.write(indent, f"while {counter} > 0:")
            case "and":
                self.write(indent, f"while {counter} > 0 and {self.truth(inner)}:")
            case "true":
                self.write(indent, "while True:")
                self.write(indent + 1, f"if {counter} <= 0:")
                self.write(indent + 2, "break")
            case "walrus":
                target = self.pick([self.fresh_name("w"), *names.ints])
                self.write(indent, f"while ({target} := {counter}) > 0:")
                if target not in inner.ints:
                    inner.ints.append(target)
            case "last":
                self.write(indent, f"while {counter}:")
        self.write(indent + 1, f"{counter} -= 1")
        self.loop_body(indent, inner, context)
        return self.loop_else(indent, names, context)

    def loop_body(self, indent: int, names: Names, context: Context) -> None:
        self.block(indent + 1, names, Context(context.returns, context.loops + 1, True, context.depth + 1))

    def loop_else(self, indent: int, names: Names, context: Context) -> bool:
        if self.chance(4):
            self.write(indent, "else:")
            inner = Context(context.returns, context.loops, context.can_break, context.depth + 1)
            self.block(indent + 1, names.copy(), inner, 2)
        return True

    def write_match(self, indent: int, names: Names, context: Context) -> bool:
        self.write(indent, f"match {self.integer(names, 1)}:")
        inner = Context(context.returns, context.loops, context.can_break, context.depth + 2)
        self.write(indent + 1, f"case {self.pick(['0', '1 | 2', '3'])}:")
        self.block(indent + 2, names.copy(), inner, 2)
        if self.chance(2):
            branch = names.copy()
            branch.ints.append("q")  # not k, which counts the calls of a recursion
            self.write(indent + 1, f"case q if {self.truth(branch, 1)}:")
            self.block(indent + 2, branch, inner, 1)
        if self.chance(2):
            self.write(indent + 1, "case _:")
            self.block(indent + 2, names.copy(), inner, 1)
        return True

    def write_try(self, indent: int, names: Names, context: Context) -> bool:
        self.write(indent, "try:")
        inner = Context(context.returns, context.loops, context.can_break, context.depth + 1)
        reached = self.block(indent + 1, names.copy(), inner, 2)
        self.write(indent, "finally:")
        self.block(indent + 1, names.copy(), Context(None, context.loops, False, 4), 1)
        return reached

    def write_with(self, indent: int, names: Names, context: Context) -> bool:
        self.write(indent, "with nullcontext():")
        inner = Context(context.returns, context.loops, context.can_break, context.depth + 1)
        return self.block(indent + 1, names, inner, 2)

    # Functions

    def function(self, name: str, parameters: Sequence[str], names: Names, returns: str, depth: int) -> None:
        """A function with a result on every path."""
        self.write(0, f"def {name}({', '.join(parameters)}):")
        reached = self.block(1, names, Context(returns, depth=depth), 4 if depth else 6)
        if reached:
            self.write(1, f"return {self.result(returns, names)}")
        self.lines += ["", ""]

    def recursion(self, functions: dict[str, int]) -> dict[str, int]:
        """A recursive function, or two that call each other; the first parameter bounds the depth."""
        group = ["r"] if self.chance(2) else ["even", "odd"]
        for name, other in zip(group, [*group[1:], group[0]], strict=True):
            self.write(0, f"def {name}(k, a):")
            self.write(1, f"if k <= 0{self.pick(['', ' or a > 40'])}:")
            own = Names(ints=["a"], counters=["k"], functions=dict(functions))
            self.write(2, f"return {self.integer(own)}")
            self.block(1, own, Context("int", loops=2, depth=2), 2)
            recursive_call = f"{other}(k - {self.number(1, 2)}, {self.integer(own, 1)})"
            forms = [recursive_call, f"({recursive_call} + {self.integer(own, 1)}) % 50"]
            forms += [f"({recursive_call} if {self.truth(own, 1)} else {self.integer(own, 1)})"]
            forms += [f"({recursive_call} - {other}(k - 2, a)) % 7"]
            self.write(1, f"return {self.pick(forms)}")
            self.lines += ["", ""]
        self.write(0, "def recur(k, a):")
        self.write(1, f"return {group[0]}(k % 5, a % 20)")
        self.lines += ["", ""]
        return {"recur": 2}


HEADER = """\
from contextlib import nullcontext


class Box:
    def __init__(self, v):
        self.v = v
        self.w = 0

    def bump(self, d):
        if d > 1:
            self.v = (self.v + d) % 30
            return self.v
        self.w += 1
        return self.w


"""


def write_program(number: Number, size: int = 14) -> PythonProgram:
    """A program of some `size` statements in `f`, and its inputs, by the choices of `number`."""
    writer = Writer(number, size)
    functions: dict[str, int] = {}
    if writer.chance(3):
        writer.budget = 4
        writer.function("helper", ["a", "e"], Names(ints=["a", "e"]), "int", 1)
        functions["helper"] = 2
    if writer.chance(3):
        writer.budget = 3
        functions |= writer.recursion(functions)
    writer.budget = size
    names = Names(ints=["n", "m"], bools=["p"], functions=functions)
    writer.function("f", ["n", "m", "p"], names, writer.pick(["int", "pair", "float"]), 0)
    inputs = [(number(-3, 6), number(-2, 9), writer.chance(2)) for _ in range(2)]
    return PythonProgram(HEADER + "\n".join(writer.lines), tuple(inputs))


@st.composite
def python_programs(draw: Callable[[Any], Any], size: int = 14) -> PythonProgram:
    """Programs whose choices Hypothesis draws."""
    return write_program(lambda low, high: draw(st.integers(low, high)), size)


def load_program(program: PythonProgram, folder: Path) -> Callable[..., Any]:
    """The function `f` of a program, from a file of its own."""
    path = folder / f"program_{hashlib.sha256(program.text.encode()).hexdigest()[:16]}.py"
    path.write_text(program.text, encoding="utf-8")
    return runpy.run_path(str(path))["f"]  # type: ignore[no-any-return]
