"""How a run ended, as data and in words: status, value, statistics and critical path."""
