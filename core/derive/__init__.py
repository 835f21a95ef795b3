"""Differentiation: programs with pullbacks of plain functions become programs of split functions (docs/gradients.md)."""
