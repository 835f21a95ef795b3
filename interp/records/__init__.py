"""Records of runs: event logs as JSON lines or columns, outcomes as JSON documents, and the option `keep`."""
