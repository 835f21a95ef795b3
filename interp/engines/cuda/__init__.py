"""The token machine by waves, for a graphics processor: all tokens of the flight at once, a token a thread."""
