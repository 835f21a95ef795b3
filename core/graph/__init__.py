"""The graph: flat, static and cyclic. Lowering to it, its rules V7 to V16, and the types of its outputs."""
