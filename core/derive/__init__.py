"""Differentiation: pullbacks of plain functions become those of split functions (docs/gradients.md)."""
