"""The engines, and their common parts: the protocol with its options and limits, the registry, and interruption."""
