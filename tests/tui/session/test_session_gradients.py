"""Stepping through a reverse pass: from a firing to the one that reverses it, and back; and queries about both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tagloom as tl
from tagloom.tui.panes.tokens import tags_page
from tagloom.tui.run_start import RunRequest
from tagloom.tui.session.commands import new_session
from tagloom.tui.session.node import describe_effect
from tagloom.tui.session.session import Session

GRADIENT = str(Path(tl.__file__).parent / "papers_examples" / "recursion" / "gradient.py")
POWER = """
import tagloom as tl

@tl.function
def power(x: tl.float64, n: tl.int64) -> tl.float64:
    return tl.while_loop(lambda i, p: i < n, lambda i, p: (i + 1, p * x), 0, 1.0)[1]

@tl.function
def main(x: tl.float64, n: tl.int64) -> tl.float64:
    return tl.grad(power)(x, n)
"""


@pytest.fixture
def session(tmp_path: Path) -> Session:
    result = new_session()
    result.load_run(RunRequest(GRADIENT, ("4.0",), result.options))
    return result


@pytest.fixture
def loop(tmp_path: Path) -> Session:
    (tmp_path / "power.py").write_text(POWER)
    result = new_session()
    result.load_run(RunRequest(str(tmp_path / "power.py"), ("3.0", "3"), result.options))
    return result


def last_firing(session: Session, line: str) -> tuple[str, str]:
    """The node and the tag of the last event after a command."""
    reply = session.execute(line)
    assert reply.ok, reply
    event = session.history[session.history.position - 1]
    return session.history.graph.nodes[event.token.node].name, str(event.token.tag)


def test_stepping_to_the_reverse_pass_and_back(session: Session) -> None:
    """From the last product forwards to the products with its adjoint, under the same tag, and back."""
    session.execute("run")
    assert last_firing(session, "node-back multiply") == ("multiply", "main/grad_fac/fac")
    position = session.history.position
    reply = session.execute("adjoint")
    assert [line.strip() for line in reply.text[2:]] == [f"also fac_split.back_multiply_1 at event {at(session, 1)}"]
    assert last_firing(session, "where") == ("back_multiply", "main/grad_fac/fac")
    assert last_firing(session, ")") == ("multiply", "main/grad_fac/fac")
    assert session.history.position == position
    session.execute("undo")
    session.execute("undo")
    assert session.history.position == position


def at(session: Session, nth: int) -> Any:
    reply = session.execute("adjoint multiply main/grad_fac/fac")
    return reply.data["partners"][nth]


def test_a_partner_in_the_future(session: Session) -> None:
    """If the adjoint has not come yet, the run continues; the return of its pullback reverses a call."""
    assert last_firing(session, "node fac_split.fac.call_x") == ("fac.call_x", "main/grad_fac/fac")
    known = len(session.history)
    assert last_firing(session, "(") == ("back_fac", "main/grad_fac/fac/fac")
    assert session.history.position > known
    assert last_firing(session, ")") == ("fac.call_x", "main/grad_fac/fac")


def test_partners_in_a_loop(loop: Session) -> None:
    """In a loop the partner is in the same iteration, from the end of the loop to its beginning."""
    loop.execute("run")
    tag = "main/grad_power/power/loop[1]"
    assert last_firing(loop, f"adjoint loop.p {tag}") == ("back_loop", tag)
    assert last_firing(loop, "forward") == ("loop.p", tag)
    assert last_firing(loop, f"adjoint multiply {tag}") == ("back_multiply", tag)
    assert last_firing(loop, "adjoint loop_p main/grad_power/power/loop[3]") == (
        "back_loop.d_multiply.reenter",
        "main/grad_power/power",
    )
    assert last_firing(loop, "forward") == ("loop_p", "main/grad_power/power/loop[3]")


def test_a_difference_passes_its_adjoint_on(session: Session) -> None:
    """The adjoint of a difference has no node of its own: it is that of the call that receives the difference."""
    session.execute("run")
    name, tag = last_firing(session, "adjoint subtract main/grad_fac/fac")
    assert (name, tag) == ("back_fac", "main/grad_fac/fac/fac")


def test_firings_without_partners(session: Session) -> None:
    """A comparison has no adjoint, a forward node reverses nothing, and at the beginning no node has fired."""
    assert "nothing has fired yet" in session.execute("adjoint").text[0]
    session.execute("run")
    assert "this firing has no adjoint" in session.execute("adjoint less_equal main/grad_fac/fac").text[0]
    assert "this firing is not an adjoint" in session.execute("forward less_equal main/grad_fac/fac").text[0]
    refused = session.execute("adjoint multiply main/grad_fac/fac/fac/fac/fac")
    assert "has not fired" in refused.text[0] and "why-not" in refused.text[1]


def test_why_of_an_adjoint(loop: Session) -> None:
    """An adjoint goes back to the forward values that it met and to the adjoint that the gradient began with, behind
    the nodes that only pass them on."""
    loop.execute("run")
    text = "\n".join(loop.execute("why back_loop.d_multiply main/grad_power/power/loop[2]").text)
    assert "back_multiply" in text and "argument x = 3.0" in text and "call 1.0 -> 1.0" in text
    assert "trigger" not in text
    loop.execute("start")
    loop.execute("step 12")
    answer = loop.execute("why-not back_multiply main/grad_power/power/loop[0]")
    assert answer.data["verdict"] == "pending"
    loop.execute("run")
    assert loop.execute("why-not back_multiply main/grad_power/power/loop[3]").data["verdict"] == "never"


def test_the_tree_of_tags_has_both_phases(session: Session) -> None:
    """A call has its arguments and results, and those of its pullback as far as it has happened."""
    session.execute("run")
    session.execute("node-back back_multiply")
    texts = [str("".join(span.text for span in row.spans)) for row in tags_page(session).rows]
    assert any("fac_split(4.0), ∂(1.0)" in line for line in texts)


def test_rules_of_reverse_passes(loop: Session) -> None:
    """The inspector names the rule by which a reenter or a back fires."""
    nodes = {node.op: node for node in loop.history.graph.nodes}
    assert describe_effect(nodes["reenter"]).endswith("(S17)") and describe_effect(nodes["back"]).endswith("(S17)")
