"""The screen's colours: the table of looks of `viz.style` on light and dark backgrounds, each colour legible; and the
preferences that are kept between sessions."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from rich.color import Color
from rich.style import Style
from rich.text import Text
from textual.theme import Theme as Colours

from ...viz import style
from ...viz.style import DARK, LIGHT, Theme
from ..panes.page import FUTURE_COLOUR, PageRow

CONTRAST = 4.5
"""The minimum contrast of text (WCAG 2.2, 1.4.3)."""


def mix_colours(first: str, second: str, share: float) -> str:
    """Linear interpolation of two colours: `first` for share 0, `second` for share 1; all as `#RRGGBB`."""
    pairs = zip(parse_colour(first), parse_colour(second), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02X}" for a, b in pairs)


def parse_colour(colour: str) -> tuple[int, int, int]:
    """Red, green and blue of `#RRGGBB`, from 0 to 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def relative_luminance(colour: str) -> float:
    """The relative luminance of a colour, from 0 to 1 (WCAG 2.2)."""
    linear = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
        for part in (p / 255 for p in parse_colour(colour))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two colours, from 1 to 21.

    >>> round(contrast("#000000", "#FFFFFF"))
    21
    """
    low, high = sorted((relative_luminance(first), relative_luminance(second)))
    return (high + 0.05) / (low + 0.05)


@cache
def legible_colour(colour: str, theme: Theme, background: str = "") -> str:
    """A colour of the table of looks in this theme; if it is illegible on the background, moved towards the text
    colour."""
    target = theme.resolve_colour(colour) if colour else theme.foreground
    return next(
        (
            mixture
            for share in range(21)
            if contrast(mixture := mix_colours(target, theme.foreground, share / 20), background or theme.background)
            >= CONTRAST
        ),
        theme.foreground,
    )


@cache
def text_style(colour: str, strong: bool, dark: bool, background: str = "", underlined: bool = False) -> Style:
    """The style of a piece of text."""
    theme = DARK if dark else LIGHT
    ink = (
        mix_colours(theme.background, theme.foreground, 0.25)
        if colour == FUTURE_COLOUR
        else legible_colour(colour, theme, background)
    )
    return Style(
        color=Color.parse(ink),
        bgcolor=Color.parse(background) if background else None,
        bold=strong,
        underline=underlined or None,
    )


def row_text(row: PageRow, dark: bool) -> Text:
    """A row as text that ends in an ellipsis if there is no room."""
    pieces = ((span.text, text_style(span.colour, span.bold, dark, underlined=span.underlined)) for span in row.spans)
    return Text.assemble(*pieces, no_wrap=True, overflow="ellipsis")


@cache
def tint(colour: str, dark: bool, share: float = 0.2) -> str:
    """A background with a slight tint of a colour."""
    theme = DARK if dark else LIGHT
    return mix_colours(theme.background, colour, share)


def _textual_theme(theme: Theme, dark: bool) -> Colours:
    surface = mix_colours(theme.background, theme.foreground, 0.04)
    return Colours(
        name=f"tagloom-{theme.name}",
        primary=legible_colour(style.SKY, theme),
        secondary=legible_colour(style.PURPLE, theme),
        accent=legible_colour(style.ORANGE, theme),
        warning=legible_colour(style.ORANGE, theme),
        error=legible_colour(style.VERMILLION, theme),
        success=legible_colour(style.GREEN, theme),
        foreground=theme.foreground,
        background=theme.background,
        surface=surface,
        panel=mix_colours(theme.background, theme.foreground, 0.1),
        dark=dark,
        variables={
            "border": mix_colours(theme.background, theme.foreground, 0.3),
            "border-blurred": mix_colours(theme.background, theme.foreground, 0.3),
        },
    )


THEMES = (_textual_theme(DARK, True), _textual_theme(LIGHT, False))
"""The themes to choose from."""


# Preferences


def preferences_folder() -> Path:
    """The folder of the preferences (XDG Base Directory Specification)."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(state) / "tagloom"


def load_preference(name: str) -> str:
    """The saved preference of this name; empty if there is none."""
    with suppress(OSError, UnicodeDecodeError):
        return (preferences_folder() / name).read_text(encoding="utf-8").strip()
    return ""


def save_preference(name: str, value: str) -> None:
    """Save a preference."""
    with suppress(OSError):
        preferences_folder().mkdir(parents=True, exist_ok=True)
        (preferences_folder() / name).write_text(f"{value}\n", encoding="utf-8")
