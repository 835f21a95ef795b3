"""The families of ops, in the order in which documents list them. A family is a file of rows."""

from . import arithmetic, compare, math, select

__all__ = ["arithmetic", "compare", "math", "select"]
