"""Queues between threads, and between threads and programs."""
