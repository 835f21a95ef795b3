"""The debugger as a Textual app. Widgets show what `tui.panes` computes and run session commands; they contain no
logic."""

import os

os.environ.setdefault("TEXTUAL_FPS", "120")
"""Textual's frame rate, unless the user sets one: at 60 per second, its default, a key may wait for 16 ms."""
