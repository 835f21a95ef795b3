"""The engines, and what they share: the protocol with its options and limits, the registry, and interruption."""
