"""From Python to programs: tracing, and the functions that people call."""
