"""Generated programs for the compiled engine: of every op, with cells or with effects, and with random numbers; sums
and products in them are exact, so that results are to be the same to the bit."""

from __future__ import annotations

from hypothesis import strategies as st
from support.generators.effect_programs import act_cases
from support.generators.generator import Case, cases
from support.generators.scalar_cases import scalar_cases

SCALARS = "scalars"
"""The kind that numba compiles in a third of a second; of all others a program takes one to three."""
KINDS: dict[str, st.SearchStrategy[Case]] = {
    "plain": cases(exact=True),
    "arrays": cases(exact=True, arrays=True),
    SCALARS: scalar_cases(),
    "cells": act_cases(exact=True, without=frozenset({"effects"}), early=False),
    "cells that are read early": act_cases(exact=True, without=frozenset({"effects"}), early=True),
    "cells that are put twice": act_cases(exact=True, without=frozenset({"effects"}), twice=True),
    "effects": act_cases(exact=True, without=frozenset({"cells"})),
}
