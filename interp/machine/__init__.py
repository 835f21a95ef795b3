"""The semantics: tokens, activation records, and the rule by which nodes fire. Nothing here uses engines, files or the
time."""
