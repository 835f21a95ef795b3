"""The oracle compares engines on a program, explores all schedules of a small graph, and runs corpora of cases."""
