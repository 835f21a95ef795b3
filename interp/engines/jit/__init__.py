"""Compiling with numba, for every engine that does: scalar kernels as machine code, and modules kept on disk."""
