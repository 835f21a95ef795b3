"""The rules of the column `gradient`, family by family: each says an adjoint, and computes nothing."""
