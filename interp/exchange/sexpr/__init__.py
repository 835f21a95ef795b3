"""S-expressions: a small functional language that converted Python is staged to, its machine, and its gradient."""
