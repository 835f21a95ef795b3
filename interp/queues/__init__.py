"""Queues between threads, and between those and programs."""
