"""Column logs: a run's events as columns of integers in a NumPy archive (`.npz`). They contain the same data as the
JSON lines of `event_log`, and `column_log_lines` converts them.

`header` is the first line of the log, `workers` the line of the workers, if there is one, and `outcome` the last line,
as bytes; `format` is the version of the columns.
Pages 0, 1, 2, ... contain the events between. `PAGE/TABLE/COLUMN` is a column of one of the tables below. An event has
rows in other tables, in the order of events; the column `PAGE/events/inputs` counts those in the table `inputs`. Empty
tables, and columns of counts that are all 0, are left out.

A value is a code of its dtype and a word: a number as int64, the bits of a float64, or, with code 0, the position of
its JSON text in the page. The reader checks every size against the archive's directory before it allocates memory, and
runs no code.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from ...core import dtypes
from ...core.errors import Malformed, Usage
from ...core.graph.graph import Graph
from ...core.json.value import value_to_json_text
from ...core.types import type_of
from ...core.value import Value
from ..image.image import decode_word, encode_word, is_boxed
from ..machine.event import Event, Token
from ..outcome.worker_lanes import WorkerLanes
from .documents import OutcomeRecord
from .event_log import RecentTexts, TagNumbers, TagRow, compact_json, lanes_line, outcome_line, tag_line, unwritable_log
from .old_keys import NEW_KEYS

Column: TypeAlias = npt.NDArray[np.int64]
FORMAT = 1
"""The version of the columns."""
VALUE = ("dtype", "word")
TOKEN = ("node", "port", "tag", *VALUE)
TABLES = {
    "events": (*TOKEN, "position", "flags"),
    "tags": ("parent", "site", "iteration"),
    "inputs": VALUE,
    "outputs": ("output", *VALUE),
    "traps": ("text",),
    "sent": TOKEN,
    "closed": ("tag",),
    "fired": ("node",),
    "woken": TOKEN,
    "deferred": (*VALUE, "number"),
    "released": ("step", *TOKEN),
}
"""The columns of each table, except its counts."""
COUNTS = {
    "events": ("tags", "inputs", "outputs", "traps", "sent", "closed", "woken", "deferred", "released"),
    "closed": ("fired",),
}
"""The child tables of a table: for each, it has a column that counts the child rows of its own rows."""
WIDTHS = {table: len(columns) + len(COUNTS.get(table, ())) for table, columns in TABLES.items()}
FIRED, THROTTLED = 1, 2
"""The bits of `flags`."""
TEXT_CODE = 0
DTYPE_CODES = {dtype: code for code, dtype in enumerate(dtypes.ALL, 1)}

PAGE_WORDS, PAGE_TEXT_BYTES = 2**21, 2**22
"""The limits on a page: when it has this many numbers, or bytes of text, it is written."""
BLOCK_ROWS = 2**13
"""The number of rows that are converted to text at once."""
LARGEST_PAGE = 2**28
"""The limit on the uncompressed bytes of a page's compressed members; larger members are stored uncompressed. So a
small file cannot claim much memory."""
LARGEST_DEFLATED_TEXTS = 2**20
"""The limit on the bytes of a page's texts; larger ones, which have large arrays in base64, are stored uncompressed.
Deflating base64 is slow, and saves a quarter at most."""
_NARROW_DTYPES = ("|u1", "|i1", "<u2", "<i2", "<u4", "<i4", "<i8")
_HEADER = re.compile(rb"\{'descr': '([|<][iu][1248])', 'fortran_order': False, 'shape': \((\d{1,15}),\), \} *\n")
_BROKEN_ARCHIVE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OverflowError, struct.error)
"""The exceptions that `zipfile` raises for archives that are damaged, encrypted, or compressed by other methods."""


class ColumnLogWriter:
    """Writes the pages of a column log: from events, or from rows of its tables."""

    def __init__(self, graph: Graph, write: Callable[[str, bytes], object]) -> None:
        """`write` is called with the name and the content of each member."""
        self.tags = TagNumbers(graph)
        self._write = write
        self._pages, self._array_texts = 0, RecentTexts()
        self._start_page()

    def _start_page(self) -> None:
        self._rows = {table: array("q") for table in TABLES}
        self._texts: dict[str, int] = {}
        self._text_bytes = 0

    def write_event(self, event: Event) -> None:
        """Add an event, and the tags that it opens."""
        rows, numbers = self._rows, self.tags.numbers
        opened_tags = self.tags.declare(event)
        for row in opened_tags:
            rows["tags"].extend(row[1:])
        inputs = event.inputs or ()
        for value in inputs:
            rows["inputs"].extend(self.value_row(value))
        for output, value in event.outputs:
            rows["outputs"].extend((output, *self.value_row(value)))
        if event.trap is not None:
            rows["traps"].append(self.text(compact_json(event.trap)))
        for tag, nodes in event.closed:
            rows["closed"].extend((numbers[tag], len(nodes)))
            rows["fired"].extend(sorted(nodes))
        if event.deferred_at is not None:
            rows["deferred"].extend((*self.value_row(event.deferred_at.handle), event.deferred_at.number))
        for token in event.sent:
            rows["sent"].extend(self.token_row(token))
        for token in event.woken:
            rows["woken"].extend(self.token_row(token))
        for step, token in event.released:
            rows["released"].extend((step, *self.token_row(token)))
        flags = FIRED * event.is_firing | THROTTLED * event.is_throttled
        rows["events"].extend((
            *self.token_row(event.token), event.position, flags, len(opened_tags), len(inputs), len(event.outputs),
            event.trap is not None, len(event.sent), len(event.closed), len(event.woken),
            event.deferred_at is not None, len(event.released),
        ))  # fmt: skip
        self.tags.close(event)
        self._end_full_page()

    def write_rows(self, tables: Mapping[str, Column]) -> None:
        """Add rows, given as an array of shape (rows, columns) for each table: the columns of TABLES, then the
        counts."""
        for table, rows in tables.items():
            self._rows[table].frombytes(np.ascontiguousarray(rows, np.int64).tobytes())
        self._end_full_page()

    def value_row(self, value: Value) -> tuple[int, int]:
        """The dtype code and the word of a value."""
        type_ = type_of(value)
        if is_boxed(type_):
            return TEXT_CODE, self.text(self._array_texts(value))
        return DTYPE_CODES[type_.dtype], encode_word(value, type_.dtype)

    def token_row(self, token: Token) -> tuple[int, int, int, int, int]:
        """The columns of a token under an open tag."""
        return (token.node, token.port, self.tags.numbers[token.tag], *self.value_row(token.value))

    def text(self, text: str) -> int:
        """The position of a JSON text among those of the page."""
        number = self._texts.setdefault(text, len(self._texts))
        if number == len(self._texts) - 1:
            self._text_bytes += len(text)
        return number

    def _end_full_page(self) -> None:
        if sum(map(len, self._rows.values())) >= PAGE_WORDS or self._text_bytes >= PAGE_TEXT_BYTES:
            self.end_page()

    def end_page(self) -> None:
        """Write the current page, if it has events."""
        if not self._rows["events"]:
            return
        page, table_rows, texts = self._pages, self._rows, [text.encode("ascii") for text in self._texts]
        self._pages += 1
        self._start_page()
        for table, words in table_rows.items():
            rows = np.frombuffer(words, np.int64).reshape(-1, WIDTHS[table])
            counts = COUNTS.get(table, ())
            for name, column in zip((*TABLES[table], *counts), rows.T, strict=True):
                if len(column) and (name not in counts or column.any()):
                    self._write_column(f"{page}/{table}/{name}", narrow(column))
        if texts:
            self._write_column(f"{page}/texts/ends", narrow(np.cumsum([len(text) for text in texts])))
            self._write_column(f"{page}/texts/bytes", np.frombuffer(b"".join(texts), np.uint8))

    def write_lanes(self, lanes: WorkerLanes) -> None:
        """Write the last page and the workers of the events."""
        self.end_page()
        self.write_line("workers", lanes_line(lanes))

    def write_outcome(self, outcome: OutcomeRecord) -> None:
        """Write the last page and the outcome."""
        self.end_page()
        self.write_line("outcome", outcome_line(outcome))

    def write_line(self, name: str, line: str) -> None:
        """Write the first or last line of the log."""
        self._write_column(name, np.frombuffer(line.rstrip("\n").encode("ascii"), np.uint8))

    def _write_column(self, name: str, column: npt.NDArray[Any]) -> None:
        content = BytesIO()
        np.lib.format.write_array(content, np.ascontiguousarray(column), version=(1, 0), allow_pickle=False)
        self._write(f"{name}.npy", content.getvalue())


def narrow(column: Column) -> npt.NDArray[Any]:
    """The same numbers in the smallest integer dtype that fits them all."""
    low, high = int(column.min()), int(column.max())
    fits = (dtype for dtype in _NARROW_DTYPES if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max)
    return column.astype(next(fits))


@contextmanager
def create_column_log(path: Path, graph: Graph, header: str) -> Iterator[ColumnLogWriter]:
    """Create a column log with this header line; raises Usage where the path cannot be written. If the run raises an
    exception, the log has the events before it."""

    def write(name: str, content: bytes) -> None:
        limit = LARGEST_DEFLATED_TEXTS if name.endswith("/texts/bytes.npy") else LARGEST_PAGE >> 5
        method = zipfile.ZIP_STORED if len(content) > limit else zipfile.ZIP_DEFLATED
        try:
            archive.writestr(zipfile.ZipInfo(name), content, method, 1)
        except OSError as error:
            raise unwritable_log(path, error) from None

    try:
        archive = zipfile.ZipFile(path, "w")
    except OSError as error:
        raise unwritable_log(path, error) from None
    writer = ColumnLogWriter(graph, write)
    try:
        writer.write_line("header", header)
        write("format.npy", _format_member())
        yield writer
    finally:
        try:
            writer.end_page()
            archive.close()
        except Usage:  # of `write`; it is an OSError, too
            raise
        except OSError as error:
            raise unwritable_log(path, error) from None


def _format_member() -> bytes:
    content = BytesIO()
    np.lib.format.write_array(content, np.array([FORMAT], np.uint8), version=(1, 0), allow_pickle=False)
    return content.getvalue()


def column_log_lines(path: Path) -> Iterator[bytes]:
    """The JSON lines of a column log.

    Raises Usage if the file cannot be read, and Malformed if it is not a column log. Pages are read one by one.
    """
    if path.exists() and not path.is_file():  # an archive is read from its end, which a device may not have
        raise Usage("this log cannot be read", required="a regular file", got=path)
    try:
        with zipfile.ZipFile(path) as archive:
            yield from archive_lines(_ColumnArchive(archive))
    except OSError as error:
        raise Usage("this log cannot be read", got=path, hint=error.strerror, python=type(error)) from None
    except Malformed:  # it is a ValueError, too
        raise
    except _BROKEN_ARCHIVE as error:
        raise Malformed(
            "this is not a log of events",
            where=path.name,
            required="a complete archive of columns",
            got=f"{type(error).__name__}: {error}"[:200],
            hint="a run that was killed leaves an archive without its end",
        ) from None


def archive_lines(archive: _ColumnArchive) -> Iterator[bytes]:
    """The JSON lines of an open archive; raises Malformed for missing or unexpected members."""
    if archive.read("format").tolist() != [FORMAT]:
        archive.refuse("format", f"version {FORMAT}", "another version")
    yield archive.read("header").tobytes() + b"\n"
    page, tags = 0, 1
    while f"{page}/events/node.npy" in archive.infos:
        reader = PageReader(archive, page, tags)
        for line in reader.lines():
            yield line.encode("ascii")
        page, tags = page + 1, tags + reader.sizes["tags"]
    for name in ("workers", "outcome"):
        if f"{name}.npy" in archive.infos:
            yield archive.read(name).tobytes() + b"\n"
    for name in archive.infos:
        archive.refuse(name, f"no members other than those of {page} pages", name)


class _ColumnArchive:
    """The members of an archive; each is read once."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.infos = {member_name(info.filename): info for info in archive.infolist()}
        """The members not read yet."""
        self._page, self._page_bytes = "", 0

    def refuse(self, name: str, required: str, got: object) -> NoReturn:
        """Raise Malformed for a member, with its requirement."""
        raise Malformed("this is not a log of events", where=name, required=required, got=got)

    def read(self, name: str) -> npt.NDArray[Any]:
        """The column in a member; raises Malformed if its size is not what the archive's directory says."""
        info = self.infos.pop(f"{name}.npy", None)
        if info is None:
            self.refuse(name, "this member", "an archive without it")
        self._check_size(name, info)
        with self._archive.open(info) as member:
            start = member.read(10)
            if len(start) < 10 or start[:8] != b"\x93NUMPY\x01\x00":
                self.refuse(name, "an array of version 1.0 of NumPy's format", start)
            length = int.from_bytes(start[8:], "little")
            header = _HEADER.fullmatch(member.read(length))
            if header is None:
                self.refuse(name, "a list of integers", "another array")
            dtype, rows = np.dtype(header[1].decode()), int(header[2])
            if dtype.itemsize * rows != info.file_size - 10 - length:
                self.refuse(name, f"{info.file_size - 10 - length} bytes", f"{rows} of {dtype.itemsize} bytes")
            content = member.read()
        return np.frombuffer(content, dtype)

    def _check_size(self, name: str, info: zipfile.ZipInfo) -> None:
        """Raise Malformed for a page that takes far more memory than its compressed members."""
        page = name.partition("/")[0]
        if page != self._page:
            self._page, self._page_bytes = page, 0
        if info.compress_type == zipfile.ZIP_STORED:
            return
        if info.compress_type != zipfile.ZIP_DEFLATED:
            self.refuse(name, "a member that is stored or deflated", f"compression {info.compress_type}")
        self._page_bytes += info.file_size
        if self._page_bytes > LARGEST_PAGE:
            self.refuse(name, f"at most {LARGEST_PAGE:,} bytes in the deflated members of a page", info.file_size)


class PageReader:
    """Converts one page of a column log to JSON lines."""

    def __init__(self, archive: _ColumnArchive, page: int, first_tag: int) -> None:
        """Read the page; raises Malformed if the sizes of its columns do not fit each other."""
        self._archive, self._page, self._first_tag = archive, page, first_tag
        self.sizes = {"events": 0}
        """The number of rows of each table."""
        self._columns: dict[str, dict[str, npt.NDArray[Any]]] = {}
        node = archive.read(f"{page}/events/node")
        self._read_table("events", len(node), {"node": node})
        self._texts = self._read_texts()

    def _read_table(self, table: str, rows: int, columns: dict[str, npt.NDArray[Any]]) -> None:
        self.sizes[table], self._columns[table] = rows, columns
        for name in TABLES[table]:
            if name not in columns:
                columns[name] = self._archive.read(f"{self._page}/{table}/{name}") if rows else np.zeros(0, np.uint8)
        for name in COUNTS.get(table, ()):
            member = f"{self._page}/{table}/{name}"
            has_member = f"{member}.npy" in self._archive.infos
            columns[name] = self._archive.read(member) if has_member else np.zeros(rows, np.uint8)
        for name, column in columns.items():
            if len(column) != rows:
                self._archive.refuse(f"{self._page}/{table}/{name}", f"{rows} numbers", f"{len(column)}")
        for name in COUNTS.get(table, ()):
            counts = columns[name]
            if rows and not 0 <= int(counts.min()) <= int(counts.max()) < 2**31:
                self._archive.refuse(f"{self._page}/{table}/{name}", "counts of rows", "numbers out of range")
            self._read_table(name, int(counts.sum(dtype=np.int64)), {})

    def _read_texts(self) -> list[str]:
        if f"{self._page}/texts/ends.npy" not in self._archive.infos:
            return []
        ends = self._archive.read(f"{self._page}/texts/ends").tolist()
        content = self._archive.read(f"{self._page}/texts/bytes").tobytes().decode("ascii")
        begins = [0, *ends[:-1]]
        if ends != sorted(ends) or begins[0] < 0 or ends[-1] != len(content):
            self._archive.refuse(f"{self._page}/texts/ends", "the ends of its texts, in order", "other numbers")
        return [content[begin:end] for begin, end in zip(begins, ends, strict=True)]

    def lines(self) -> Iterator[str]:
        """The lines of the events, and of the tags that they open."""
        tags, inputs, outputs, traps, sent, closed, woken, deferred, released = (
            self._stream(table, render)
            for table, render in zip(
                COUNTS["events"],
                (
                    self._tag_lines, self._values, self._outputs, self._traps, self._tokens, self._closed_activations(),
                    self._tokens, self._deferred_reads, self._released,
                ),
                strict=True,
            )
        )  # fmt: skip
        for row in self._stream("events", self._event_rows):
            token, position, flags, *counts = row
            n_tags, n_inputs, n_outputs, n_traps, n_sent, n_closed, n_woken, n_deferred, n_released = counts
            yield from islice(tags, n_tags)
            line = f'{{"deliver":{token},"position":{position}'
            if n_deferred:
                line += f',"deferred":{join_texts(deferred, n_deferred)}'
            if n_inputs or flags & FIRED:
                line += f',"inputs":[{join_texts(inputs, n_inputs)}],"outputs":[{join_texts(outputs, n_outputs)}]'
            elif n_outputs:
                line += f',"outputs":[{join_texts(outputs, n_outputs)}]'
            if n_traps:
                line += f',"trap":{join_texts(traps, n_traps)}'
            if n_sent:
                line += f',"sent":[{join_texts(sent, n_sent)}]'
            if n_closed:
                line += f',"closed":[{join_texts(closed, n_closed)}]'
            if n_woken:
                line += f',"woken":[{join_texts(woken, n_woken)}]'
            if flags & THROTTLED:
                line += ',"throttled":true'
            if n_released:
                line += f',"released":[{join_texts(released, n_released)}]'
            yield line + "}\n"

    def _stream(self, table: str, render: Callable[[int, Mapping[str, Any]], Any]) -> Iterator[Any]:
        """The results of `render`, one for each row. It is called with the number of the first row of a block, and the
        block's columns."""
        for begin in range(0, self.sizes[table], BLOCK_ROWS):
            columns = self._columns[table].items()
            yield from render(begin, {name: column[begin : begin + BLOCK_ROWS] for name, column in columns})

    def _event_rows(self, begin: int, block: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
        columns = [block[name].tolist() for name in ("position", "flags", *COUNTS["events"])]
        return zip(self._tokens(begin, block), *columns, strict=True)

    def _tag_lines(self, begin: int, block: Mapping[str, Any]) -> list[str]:
        rows = zip(*(block[name].tolist() for name in TABLES["tags"]), strict=True)
        return [tag_line(TagRow(number, *row)) for number, row in enumerate(rows, self._first_tag + begin)]

    def _values(self, begin: int, block: Mapping[str, Any]) -> list[str]:
        codes, words = block["dtype"], block["word"]
        texts = np.empty(len(words), object)
        for code in np.unique(codes).tolist():
            rows = codes == code
            distinct, inverse = np.unique(words[rows], return_inverse=True)
            texts[rows] = np.array(self._texts_of(code, distinct.tolist()), object)[inverse]
        return texts.tolist()

    def _texts_of(self, code: int, words: list[int]) -> list[str]:
        """The JSON texts of words, which are sorted, of one dtype."""
        if code == TEXT_CODE:
            return [self._text(word) for word in words]
        dtype = dtypes.ALL[code - 1] if 0 < code <= len(dtypes.ALL) else None
        if dtype is None:
            self._archive.refuse(f"page {self._page}", f"a dtype from 0 to {len(dtypes.ALL)}", code)
        low, high = dtype.range if dtype.is_integer and dtype is not dtypes.uint64 else (words[0], words[-1])
        if words[0] < low or words[-1] > high:
            self._archive.refuse(f"page {self._page}", f"values of {dtype!r}", f"{words[0]} to {words[-1]}")
        with np.errstate(over="ignore"):
            return [value_to_json_text(decode_word(word, dtype)) for word in words]

    def _text(self, number: int) -> str:
        if not 0 <= number < len(self._texts):
            self._archive.refuse(f"page {self._page}", f"one of its {len(self._texts)} texts", number)
        return self._texts[number]

    def _tokens(self, begin: int, block: Mapping[str, Any]) -> list[str]:
        columns = (block[name].tolist() for name in ("node", "port", "tag"))
        rows = zip(*columns, self._values(begin, block), strict=True)
        return [f"[{node},{port},{tag},{value}]" for node, port, tag, value in rows]

    def _outputs(self, begin: int, block: Mapping[str, Any]) -> list[str]:
        rows = zip(block["output"].tolist(), self._values(begin, block), strict=True)
        return [f"[{output},{value}]" for output, value in rows]

    def _traps(self, begin: int, block: Mapping[str, Any]) -> list[str]:
        return [self._text(number) for number in block["text"].tolist()]

    def _deferred_reads(self, begin: int, block: Mapping[str, Any]) -> list[str]:
        rows = zip(self._values(begin, block), block["number"].tolist(), strict=True)
        return [f"[{value},{number}]" for value, number in rows]

    def _released(self, begin: int, block: Mapping[str, Any]) -> list[str]:
        rows = zip(block["step"].tolist(), self._tokens(begin, block), strict=True)
        return [f"[{step},{token}]" for step, token in rows]

    def _closed_activations(self) -> Callable[[int, Mapping[str, Any]], list[str]]:
        nodes = self._stream("fired", lambda begin, block: map(str, block["node"].tolist()))

        def render(begin: int, block: Mapping[str, Any]) -> list[str]:
            rows = zip(block["tag"].tolist(), block["fired"].tolist(), strict=True)
            return [f"[{tag},[{join_texts(nodes, count)}]]" for tag, count in rows]

        return render


def member_name(name: str) -> str:
    """The name of a member of an archive, with new keys for old ones.

    >>> member_name("0/parked/number.npy"), member_name("0/events/parked.npy")
    ('0/deferred/number.npy', '0/events/deferred.npy')
    """
    path, dot, suffix = name.rpartition(".")
    return "/".join(NEW_KEYS.get(part, part) for part in path.split("/")) + dot + suffix


def join_texts(texts: Iterator[str], count: int) -> str:
    """The next `count` texts, separated by commas."""
    return next(texts) if count == 1 else ",".join(islice(texts, count))
