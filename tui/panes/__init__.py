"""The content of each pane as plain data, computed from a session; independent of any screen."""
