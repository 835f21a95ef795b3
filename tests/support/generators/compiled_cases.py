"""Generated programs for the compiled engine: with all ops, with cells or effects, and with random numbers. Sums and
products are exact, so results must agree to the bit."""

from __future__ import annotations

from hypothesis import strategies as st
from support.generators.effect_programs import act_cases
from support.generators.generator import Case, cases
from support.generators.scalar_cases import scalar_cases

SCALARS = "scalars"
"""The kind whose programs compile in the least time."""
KINDS: dict[str, st.SearchStrategy[Case]] = {
    "plain": cases(exact=True),
    "arrays": cases(exact=True, arrays=True),
    SCALARS: scalar_cases(),
    "cells": act_cases(exact=True, without=frozenset({"effects"}), early=False),
    "cells that are read early": act_cases(exact=True, without=frozenset({"effects"}), early=True),
    "cells that are put twice": act_cases(exact=True, without=frozenset({"effects"}), twice=True),
    "effects": act_cases(exact=True, without=frozenset({"cells"})),
}
