"""The engine `fast`: the token machine compiled by numba, with the tags, tokens and firings of the reference."""
