"""Random graphs of TensorFlow 1, as text: Switches, Merges, control edges, and frames inside frames.

A value is *guarded* by a frame if it is dead where the frame's LoopCond says that no iteration follows. A NextIteration
takes guarded values only, so a frame ends if its counter does; the counter may die, too.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

MAX_DEPTH = 2
CONSTANTS = "zero", "one", "limit"
PLACEHOLDERS = {"x": "DT_FLOAT", "p": "DT_BOOL", "q": "DT_BOOL"}


@dataclass(frozen=True)
class Signal:
    """An output of a node, and whether the frame around it guards it."""

    endpoint: str
    is_guarded: bool = False


class FrameGraph:
    """A random graph of x, a float32, and p and q, which are bools; `fetches` are some of its outputs."""

    def __init__(self, dice: random.Random) -> None:
        self.dice, self.lines, self.count = dice, list[str](), 0
        self.loop_variables = set[str]()
        for name, dtype in PLACEHOLDERS.items():
            shape = 'attr { key: "shape" value { shape { } } }'
            self.lines.append(
                f'node {{ name: "{name}" op: "Placeholder" attr {{ key: "dtype" value {{ type: {dtype} }} }} {shape} }}'
            )
        for name, number in zip(CONSTANTS, (0.0, 1.0, float(dice.randrange(4))), strict=True):
            tensor = f"tensor {{ dtype: DT_FLOAT tensor_shape {{ }} float_val: {number} }}"
            dtype = 'attr { key: "dtype" value { type: DT_FLOAT } }'
            self.lines.append(
                f'node {{ name: "{name}" op: "Const" {dtype} attr {{ key: "value" value {{ {tensor} }} }} }}'
            )
        values, predicates = [Signal("x"), Signal("one")], [Signal("p"), Signal("q")]
        self.add_block(values, predicates, list(map(Signal, CONSTANTS)), 0, dice.randrange(3, 9))
        candidates = [each.endpoint for each in values[2:]] or ["x"]
        self.fetches = list(dict.fromkeys([candidates[-1], *dice.choices(candidates, k=2)]))

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def add(
        self, op: str, inputs: list[Signal], controls: list[Signal], attributes: str = "", dtype: str = "DT_FLOAT"
    ) -> str:
        """Add a node; returns its name."""
        name = f"{op.lower()}_{self.count}"
        self.count += 1
        words = [f'input: "{each.endpoint}"' for each in inputs]
        words += [f'input: "^{each.endpoint.split(":")[0]}"' for each in controls]
        own = {"LoopCond": "", "ControlTrigger": "", "NoOp": ""}.get(
            op, f'attr {{ key: "T" value {{ type: {dtype} }} }}'
        )
        number = 'attr { key: "N" value { i: 2 } }' if op == "Merge" else ""
        self.lines.append(f'node {{ name: "{name}" op: "{op}" {" ".join(words)} {own} {number} {attributes} }}')
        return name

    def add_block(
        self, values: list[Signal], predicates: list[Signal], constants: list[Signal], depth: int, size: int
    ) -> None:
        """Add nodes in one frame, where `constants` are 0, 1 and a limit; their outputs are appended to the lists."""
        dice = self.dice
        for _ in range(size):
            kinds = ["Switch"] * 4 + ["Merge"] * 3 + ["Neg", "Add", "Add", "Less", "ControlTrigger", "NoOp"]
            kinds = [each for each in kinds if depth == 0 or each != "ControlTrigger"]
            kind = dice.choice(kinds + ["loop"] * 2 * (depth < MAX_DEPTH))
            recent = values[-6:]
            controls = [dice.choice(recent)] if dice.random() < 0.15 and kind != "Merge" else []
            is_controlled = self.guards_controls(controls)
            match kind:
                case "Switch":
                    operands = [dice.choice(recent), dice.choice(predicates[-4:])]
                    is_guarded = is_controlled or any(each.is_guarded for each in operands)
                    name = self.add("Switch", operands, controls)
                    values += [Signal(name, is_guarded), Signal(f"{name}:1", is_guarded)]
                case "Merge":
                    operands = dice.sample(recent, 2) if dice.random() < 0.2 else self.two_sides(recent)
                    values.append(
                        Signal(self.add("Merge", operands, controls), all(each.is_guarded for each in operands))
                    )
                case "ControlTrigger" | "NoOp":
                    before = [dice.choice(recent)]
                    control = Signal(self.add(kind, [], before))
                    operand = dice.choice(recent)
                    is_guarded = operand.is_guarded or (kind == "NoOp" and self.guards_controls(before))
                    values.append(Signal(self.add("Neg", [operand], [control]), is_guarded))
                case "Less":
                    operands = [dice.choice(recent), dice.choice(recent)]
                    is_guarded = is_controlled or any(each.is_guarded for each in operands)
                    predicates.append(Signal(self.add("Less", operands, controls), is_guarded))
                case "loop":
                    self.add_loop(values, predicates, constants, depth)
                case _:
                    operands = [dice.choice(recent) for _ in range(1 if kind == "Neg" else 2)]
                    is_guarded = is_controlled or any(each.is_guarded for each in operands)
                    values.append(Signal(self.add(kind, operands, controls), is_guarded))

    def guards_controls(self, controls: list[Signal]) -> bool:
        """Whether a control edge is guarded: not if it comes from a Switch of a loop variable, which is live itself."""
        return any(each.is_guarded and each.endpoint not in self.loop_variables for each in controls)

    def two_sides(self, values: list[Signal]) -> list[Signal]:
        """Two outputs that exclude each other if a Switch is among the values."""
        switches = [each for each in values if each.endpoint.startswith("switch") and not each.endpoint.endswith(":1")]
        if not switches:
            return self.dice.sample(values, 2)
        switch = self.dice.choice(switches)
        sides = [switch, Signal(f"{switch.endpoint}:1", switch.is_guarded)]
        self.dice.shuffle(sides)
        return [Signal(self.add("Neg", [sides[0]], []), switch.is_guarded), sides[1]]

    def add_loop(self, values: list[Signal], predicates: list[Signal], constants: list[Signal], depth: int) -> None:
        """Add a frame with a counter, some loop variables and some constants; its Exits are appended to the values."""
        dice, frame = self.dice, f"frame_{self.count}"
        parallel = dice.choice([1, 2, 10])

        def enter(signal: Signal, is_constant: bool, dtype: str = "DT_FLOAT") -> Signal:
            attributes = (
                f'attr {{ key: "frame_name" value {{ s: "{frame}" }} }} '
                f'attr {{ key: "is_constant" value {{ b: {str(is_constant).lower()} }} }} '
                f'attr {{ key: "parallel_iterations" value {{ i: {parallel} }} }}'
            )
            return Signal(self.add("Enter", [signal], [], attributes, dtype))

        outer = values[-6:]
        starts = [constants[0], *dice.choices(outer, k=dice.randrange(1, 3))]
        inner_constants = [enter(each, True) for each in constants]
        others = [enter(each, True) for each in dice.choices(outer, k=dice.randrange(2))]
        inner_predicates = [enter(dice.choice(predicates[-4:]), True, "DT_BOOL")]
        merges, lines = [], []
        for start in starts:
            entered = enter(start, False)
            name = self.add("Merge", [entered, Signal("NEXT")], [])
            merges.append(Signal(name))
            lines.append(len(self.lines) - 1)
        condition = Signal(self.add("LoopCond", [Signal(self.add("Less", [merges[0], inner_constants[2]], []))], []))
        switches = [self.add("Switch", [merge, condition], []) for merge in merges]
        self.loop_variables |= {f"{switch}:1" for switch in switches}
        body = [inner_constants[1], *others, *(Signal(f"{switch}:1", True) for switch in switches)]
        self.add_block(body, inner_predicates, inner_constants, depth + 1, dice.randrange(0, 5))
        guarded = [each for each in body if each.is_guarded]
        controls = [dice.choice(guarded)] if dice.random() < 0.1 else []
        counter = Signal(self.add("Add", [Signal(f"{switches[0]}:1"), inner_constants[1]], controls))
        for position, line in enumerate(lines):
            following = counter if position == 0 else dice.choice(guarded[-5:])
            name = self.add("NextIteration", [following], [])
            self.lines[line] = self.lines[line].replace('"NEXT"', f'"{name}"')
        values += [Signal(self.add("Exit", [Signal(switch)], [])) for switch in switches]
