"""The oracle: compare engines on a program, explore all schedules of a small graph, and try corpora of cases."""
