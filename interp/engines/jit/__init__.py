"""Compilation with numba, shared by all engines that compile: scalar kernels as machine code, and modules cached on
disk."""
