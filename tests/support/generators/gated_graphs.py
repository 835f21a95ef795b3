"""Random graphs of TensorFlow's Switches and Merges, as text and in the wire format, with the results by the rules of
its executor."""

from __future__ import annotations

import random
import struct
from typing import Any

import tagloom as tl
from tagloom.interp.exchange.tensorflow.messages import SCALARS, Message
from tagloom.interp.exchange.tensorflow.text_format import parse_text

SMALL = """node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "p" op: "Placeholder" attr { key: "dtype" value { type: DT_BOOL } } }
"""
"""A graph of x, a float32, and p, a bool."""


def encoded(message: Message) -> bytes:
    """A message in the wire format."""
    parts = []
    for name, content in message.values.items():
        field = message.schema.fields[name]
        if field.is_map:
            for key, value in content.items():
                body = value.encode() if field.kind == "string" else encoded(value)
                entry = b"\x0a" + varint(len(key.encode())) + key.encode() + b"\x12" + varint(len(body)) + body
                parts.append(varint(field.number << 3 | 2) + varint(len(entry)) + entry)
            continue
        for value in content if field.is_repeated else [content]:
            if field.kind in ("float", "double"):
                wire_type = 5 if field.kind == "float" else 1
                parts.append(
                    varint(field.number << 3 | wire_type) + struct.pack("<f" if wire_type == 5 else "<d", value)
                )
            elif field.kind in ("string", "bytes") or field.kind not in SCALARS:
                body = encoded(value) if isinstance(value, Message) else value
                body = body.encode() if isinstance(body, str) else body
                parts.append(varint(field.number << 3 | 2) + varint(len(body)) + body)
            else:
                parts.append(varint(field.number << 3) + varint(value & 0xFFFFFFFFFFFFFFFF))
    return b"".join(parts)


def varint(number: int) -> bytes:
    groups = []
    while number >= 0x80:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*groups, number])


class GatedGraph:
    """A random graph of Switches on p and q, Merges and other ops, some with control edges."""

    def __init__(self, dice: random.Random) -> None:
        self.nodes: list[tuple[str, str, list[str], list[str]]] = []
        outputs = ["x", "x"]
        names = ["x"]
        for number in range(dice.randrange(2, 9)):
            name, op = f"n{number}", dice.choice([*["Switch", "Merge"] * 3, "Neg", "Neg", "Add", "ControlTrigger"])
            count = {"Switch": 1, "Neg": 1, "ControlTrigger": 0}.get(op, 2)
            inputs = [dice.choice(outputs[-5:]) for _ in range(count)] + [dice.choice("pq")] * (op == "Switch")
            controls = [dice.choice(names)] if dice.random() < 0.4 or not inputs else []
            self.nodes.append((name, op, inputs, controls))
            names.append(name)
            outputs += {"Switch": [name, f"{name}:1"], "ControlTrigger": []}.get(op, [name])
        self.result = outputs[-1]
        needed = {self.result.split(":")[0]}
        for name, _, inputs, controls in reversed(self.nodes):
            needed |= {each.split(":")[0] for each in (*inputs, *controls)} if name in needed else set()
        self.nodes = [node for node in self.nodes if node[0] in needed]  # as TensorFlow prunes a graph

    def function(self) -> tl.Function:
        text = SMALL + 'node { name: "q" op: "Placeholder" attr { key: "dtype" value { type: DT_BOOL } } }\n'
        for name, op, inputs, controls in self.nodes:
            words = " ".join(f'input: "{each}"' for each in [*inputs, *(f"^{each}" for each in controls)])
            text += f'node {{ name: "{name}" op: "{op}" {words} }}\n'
        graph = encoded(parse_text(text, "GraphDef"))
        return tl.from_tensorflow(graph, inputs=["x", "p", "q"], outputs=[self.result])

    def execute(self, x: float, p: bool, q: bool) -> float | None:
        """The result by the rules of TensorFlow's executor, None if it is dead. Raises RuntimeError for a race."""
        values: dict[str, Any] = {"x": x, "p": p, "q": q}
        is_live = {"x": True}
        for name, op, inputs, controls in self.nodes:
            operands = [values[each] for each in inputs]
            live = [each for each in operands if each is not None]
            has_controls = all(is_live[each] for each in controls)
            is_live[name] = bool(live) if op == "Merge" else None not in operands and has_controls
            is_live[name] |= op == "ControlTrigger"
            if op == "Merge" and len(live) > 1:
                raise RuntimeError("race")
            match op if is_live[name] else "dead":
                case "Switch":
                    values[name], values[f"{name}:1"] = (None, operands[0]) if operands[1] else (operands[0], None)
                case "Neg":
                    values[name] = -operands[0]
                case "Add":
                    values[name] = sum(operands)
                case "Merge":
                    values[name] = live[0]
                case "ControlTrigger":
                    pass
                case _:
                    values[name] = values[f"{name}:1"] = None
        return values[self.result]  # type: ignore[no-any-return]


def small_text(*nodes: str) -> str:
    """The GraphDef of x, a float32, p, a bool, and nodes, written NAME = OP(INPUTS), as text."""
    text = SMALL
    for node in nodes:
        name, _, call = node.partition(" = ")
        op, _, inputs = call.rstrip(")").partition("(")
        words = " ".join(f'input: "{each}"' for each in inputs.split(", ") if each)
        text += f'node {{ name: "{name}" op: "{op}" {words} attr {{ key: "T" value {{ type: DT_FLOAT }} }} }}\n'
    return text
