"""The base class of all panes: a border with the names of the panes that share the area, and the pane's own keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.style import Style
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style as VisualStyle
from textual.widget import Widget

from ..panes.arrange import PaneArea, key_of
from ..panes.help import border_texts
from ..panes.page import PageRow
from ..session.command import sanitize
from .themes import text_style


class Pane(ScrollView, can_focus=True):
    """A scrollable widget that shows one aspect of the session."""

    class CommandRequested(Message):
        """A request to run a command, from a pane."""

        def __init__(self, pane: str, line: str) -> None:
            self.pane, self.line = pane, line
            super().__init__()

    def __init__(self, pane: str) -> None:
        super().__init__(id=pane.replace(" ", "-"), classes="pane")
        self.pane = pane
        self.dark, self.background_colour = True, ""
        self._pane_area: PaneArea | None = None
        self._subtitle = ""
        self.inner_size = Size()
        """The columns and rows for lines at the last paint; cached, because computing them takes 20 us."""
        self._painted_lines: dict[int, object] = {}

    def move_to_area(self, area: PaneArea) -> None:
        """Move to an area, with the names of the panes that share it in the border."""
        if area == self._pane_area:  # else the whole pane is repainted for its title
            return
        self._pane_area = area
        self.styles.offset = (area.x, area.y)
        self.styles.width, self.styles.height = area.width, area.height
        room = area.width - 6
        fitting = (form for form in TITLE_FORMS if title_length(area, *form) <= room)
        long, gap = next(fitting, TITLE_FORMS[-1])
        self.border_title = gap.join(title_markup(pane, pane == area.front, long) for pane in area.panes)
        self._show_subtitle()

    def set_subtitle(self, subtitle: str) -> None:
        """Set the text in the lower border."""
        if subtitle != self._subtitle:
            self._subtitle = subtitle
            self._show_subtitle()

    def _show_subtitle(self) -> None:
        """Show the keys of the pane, if it has the focus, and its subtitle in the lower border, and repaint only that
        line: setting `border_subtitle` repaints the whole pane."""
        subtitle, area = sanitize(self._subtitle), self._pane_area
        hints: tuple[tuple[str, str], ...] = ()
        if self.has_focus and area is not None:
            is_maximized = (area.x, area.y, area.width) == (0, 0, self.app.size.width)
            hints, subtitle = border_texts(self.pane, subtitle, area.width - 4, is_maximized=is_maximized)
        self._border_subtitle = join_hints(hints, subtitle)
        self.refresh(Region(-1, self.size.height, self.outer_size.width, 1))

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self._show_subtitle()

    def cursor_row(self) -> PageRow | None:
        """The row that commands refer to, if the pane has a cursor."""
        return None

    def set_colours(self, dark: bool, background: str) -> None:
        """Set the colours. They are stored, because looking the theme up for each piece of text would be slow."""
        self.dark, self.background_colour = dark, background
        self.refresh()

    def make_style(
        self, colour: str = "", strong: bool = False, background: str = "", underlined: bool = False
    ) -> Style:
        """A style in the current theme."""
        return text_style(colour, strong, self.dark, background or self.background_colour, underlined)

    def request_command(self, line: str) -> None:
        """Post a request to run a command."""
        if line:
            self.post_message(self.CommandRequested(self.pane, line))

    def set_virtual_size(self, width: int, height: int) -> None:
        """Set the size of the content. Textual then lays out the screen, which takes 10 ms, only if a scroll bar
        appears or disappears."""
        size = Size(width, height)
        if size != self.virtual_size:
            self.set_reactive(Widget.virtual_size, size)
            self._scroll_update(size)

    def show_content(self, what: Any) -> None:
        """Show new content."""
        raise NotImplementedError

    # Painting

    def line_content(self, y: int) -> object:
        """The data from which a line of the pane is painted."""
        raise NotImplementedError

    def paint_line(self, line: Any) -> Strip:
        """Paint a line of the pane from its data, as wide as the pane inside."""
        raise NotImplementedError

    def render_lines(self, crop: Region) -> list[Strip]:
        self.inner_size = self.scrollable_content_region.size
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        line = self._painted_lines[y] = self.line_content(y)
        return self.paint_line(line)

    def repaint_changed(self) -> None:
        """Repaint only the lines that have changed: each takes 0.1 ms to reach the screen."""
        width, height = self.size
        changed_rows = [
            Region(0, y, width, 1) for y in range(height) if self._painted_lines.get(y, self) != self.line_content(y)
        ]
        if changed_rows:
            self.refresh(*changed_rows)


TITLE_FORMS = ((20, "  "), (3, "  "), (3, " "), (2, " "), (0, " "))
"""The most characters of the names of panes behind the front one, and the gaps between names, by preference."""


def title_length(area: PaneArea, long: int, gap: str) -> int:
    """The columns of the titles in a border; titles of panes behind the front one are cut to `long` characters."""
    names = [f"{key_of(pane)} {pane if pane == area.front else pane[:long]}".strip() for pane in area.panes]
    return len(gap.join(names))


def title_markup(pane: str, is_front: bool, long: int) -> str:
    """The name of a pane in a border as a link to it."""
    if is_front:
        return f"{key_of(pane)} [b u]{pane}[/]".lstrip()
    return f"[@click=app.front('{pane}')][$foreground 70%]{key_of(pane)}{' ' if long else ''}{pane[:long]}[/][/]"


def join_hints(hints: Iterable[tuple[str, str]], subtitle: str) -> Content:
    """Keys with their words, each a link that presses the key, and a subtitle after them."""
    pieces = list[Content]()
    for key, word in hints:
        gap = Content("  " if pieces else "")
        links = [
            Content.styled(name, VisualStyle.from_meta({"@click": ("app.simulate_key", (textual_key(name),))}))
            for name in key.split()
        ]
        pieces.append(gap + Content(" ").join(links).stylize("bold $foreground") + Content(f" {word}"))
    if pieces and subtitle:
        pieces.append(Content(" ─ "))
    return Content("").join([*pieces, Content(subtitle)])


_TEXTUAL_KEYS = {
    "<": "less_than_sign",
    ">": "greater_than_sign",
    ".": "full_stop",
    "^p": "ctrl+p",
    "Esc": "escape",
}
"""Textual's names for keys that are written differently in hints."""


def textual_key(key: str) -> str:
    """Textual's name for a key as hints write it.

    >>> textual_key("F2"), textual_key("^p"), textual_key("S")
    ('f2', 'ctrl+p', 'S')
    """
    return _TEXTUAL_KEYS.get(key, key.lower() if len(key) > 1 else key)
