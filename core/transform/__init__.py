"""Transformations that make programs smaller: they keep what some of the values need, given others."""
