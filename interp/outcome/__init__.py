"""How a run ended, as data: status, value, statistics, critical path, and the words for each."""
