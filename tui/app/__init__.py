"""The debugger on screen. Widgets show what `tui.panes` says, and do what the session does; they hold no logic."""
