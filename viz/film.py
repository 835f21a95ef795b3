"""Pictures of a run at several moments, joined into one file: an animation, or a PDF with a page for each.

Pillow writes animations, pypdf joins pages; both come with `pip install "tagloom[frames]"`.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from importlib.util import find_spec

from ..core.errors import Usage

FILM_FORMATS = {"gif": "png", "apng": "png", "pdf": "pdf"}
"""The formats of a joined file, with the format of each of its pictures."""

MAX_COLOURS = 128
"""The colours of a frame of a GIF, whose palettes have at most 256: lines and letters need few."""


def require_library(suffix: str) -> None:
    """Raises Usage if the library that joins pictures to such a file is not installed."""
    module, library = ("pypdf", "pypdf") if suffix == "pdf" else ("PIL", "Pillow")
    if find_spec(module) is None:
        hint = 'pip install "tagloom[frames]"'
        raise Usage(f"{library}, which writes .{suffix} files, is not installed", hint=hint, python=ImportError)


def join_pictures(pictures: Sequence[bytes], suffix: str, seconds: float) -> bytes:
    """Pictures in the format that FILM_FORMATS names, joined. Each is shown for some `seconds`, except in a PDF."""
    return join_pages(pictures) if suffix == "pdf" else animate(pictures, suffix, seconds)


def animate(pictures: Sequence[bytes], suffix: str, seconds: float) -> bytes:
    """PNG pictures of one size as an animation that repeats for ever."""
    from PIL import Image

    images = (Image.open(io.BytesIO(picture)).convert("RGB") for picture in pictures)
    if suffix == "gif":
        images = (image.quantize(MAX_COLOURS, dither=Image.Dither.NONE) for image in images)
    first, *others = images
    animation = io.BytesIO()
    form, duration = "GIF" if suffix == "gif" else "PNG", round(1000 * seconds)
    first.save(animation, form, save_all=True, append_images=others, duration=duration, loop=0)
    return animation.getvalue()


def join_pages(documents: Sequence[bytes]) -> bytes:
    """The pages of PDF documents in one document."""
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter()
    for document in documents:
        for page in PdfReader(io.BytesIO(document)).pages:
            writer.add_page(page)
    writer.compress_identical_objects()
    joined = io.BytesIO()
    writer.write(joined)
    return joined.getvalue()
