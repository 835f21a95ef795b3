"""The debugger as a Textual app. Widgets show what `tui.panes` computes and run session commands; they contain no
logic."""

import os

os.environ.setdefault("TEXTUAL_FPS", "120")
"""Textual's default frame rate here: at its own 60 per second a key waits for up to 16 ms."""
