"""`tagloom explain RULE`: every rule has a text, and every V rule a valid and an invalid example."""

from __future__ import annotations

import pytest
import tagloom as tl
from support.observe.event_text import check_words
from tagloom.tui.cli.explain import RULE_EXAMPLES, describe_problem, describe_rule, parse_one, rule_problems, rule_texts


@pytest.mark.full
def test_every_rule_is_explained() -> None:
    """Every numbered rule is explained, in either case; an unknown number is refused with the known ones."""
    assert [number for number in rule_texts() if describe_rule(number.lower()).startswith(number)] == list(rule_texts())
    assert {f"V{k}" for k in range(1, 18)} <= set(RULE_EXAMPLES) and len(rule_texts()) == 4 + 17 + 11 + 18 + 3 + 6 + 5
    with pytest.raises(tl.Usage, match="there is no rule 'V99'"):
        describe_rule("V99")


@pytest.mark.parametrize("number", RULE_EXAMPLES)
def test_examples_are_right_and_wrong(number: str) -> None:
    """The right example is valid. The wrong one breaks this rule first, and no other V rule."""
    lesson = RULE_EXAMPLES[number]
    assert rule_problems(parse_one(lesson.right)) == []
    actual = [problem.rule for problem in rule_problems(parse_one(lesson.wrong))]
    check_words(rule_problems(parse_one(lesson.wrong)))
    assert set(actual) == ({number} if number.startswith("V") else {"V11"})
    assert describe_problem(lesson).startswith(f"{number}: ")


def test_the_parts_of_an_explanation() -> None:
    """An explanation has the rule, both examples, and the error of the wrong one."""
    reply = describe_rule("V4")
    assert (
        "right:" in reply
        and "wrong:" in reply
        and "V4: add: the dtypes of the operands do not promote to a common one" in reply
    )
