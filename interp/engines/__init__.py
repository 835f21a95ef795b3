"""The engines that run a program, a folder each, and what they share: limits, interruption, the choice among them."""
