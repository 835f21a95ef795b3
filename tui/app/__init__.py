"""The debugger as a Textual app. Widgets show the contents that `tui.panes` computes, and run session commands; they
contain no logic."""

import os

os.environ.setdefault("TEXTUAL_FPS", "120")
"""Textual's frame rate, unless the user sets one: at 60 per second, its default, a key may wait for 16 ms."""
if not {"SSH_CONNECTION", "SSH_TTY"} & os.environ.keys():
    os.environ.setdefault("ESCDELAY", "25")
"""How long Textual waits, in ms, for a byte after Escape, which may begin the bytes of another key, unless the user
says. A terminal on this machine sends these at once; a network may delay them, so there Textual's 100 ms remain."""
