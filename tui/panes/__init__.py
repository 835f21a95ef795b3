"""What each pane shows, as plain data, from a session: no screen is needed, and none is known here."""
