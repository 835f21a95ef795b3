"""Engines, one folder each, and what they share: the protocol, the registry, limits and interruption."""
