"""Speculation: imperative Python with objects and state, run as graphs under assumptions that are checked."""
