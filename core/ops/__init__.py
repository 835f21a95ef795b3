"""The families of ops, in the order in which documents list them. A family is a file of rows."""

from . import arithmetic, cells, compare, effect, linalg, math, random, reduce, select

__all__ = ["arithmetic", "cells", "compare", "effect", "linalg", "math", "random", "reduce", "select"]
