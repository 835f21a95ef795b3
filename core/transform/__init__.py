"""Transformations that make programs smaller: they remove the nodes and values that nothing needs."""
