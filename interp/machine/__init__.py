"""The semantics: tokens, activation records, and the one rule by which a node fires. No engine, no file, no clock."""
