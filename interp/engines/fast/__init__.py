"""The token machine in numba: the same tags, tokens and firings as the reference, over an explicit token store."""
