"""Checkpoints: what variables hold, as files, found again by the edges that lead to them."""
