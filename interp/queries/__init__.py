"""Queries about the events of a run: why a node has not fired, where tokens came from, where two runs differ."""
