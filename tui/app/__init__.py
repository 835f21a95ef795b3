"""The debugger on screen. Widgets show what `tui.panes` says, and do what the session does; they hold no logic."""

import os

os.environ.setdefault("TEXTUAL_FPS", "120")
"""How often Textual paints in a second, where nobody says otherwise: at its own 60 a key waits for up to 16 ms."""
