"""The token machine by waves, on a GPU: all tokens in flight at once, one thread per token."""
