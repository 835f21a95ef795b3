"""Files of exported programs: archives of zip with the program as JSON, and the bytes of its arrays. Nothing is
unpickled; pickled arrays are refused where they are needed."""

from __future__ import annotations

import io
import json
import math
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ....core.errors import Malformed, Usage
from ..refusals import unsupported
from .graph import ExportedProgramData, TensorMeta, read_bool, read_exported_program, read_meta, read_text

MAX_MODEL_BYTES = 2**28
"""The most bytes of the JSON of a program."""
MAX_ENTRIES = 2**17
OLD_MODEL = "serialized_exported_program.json"
"""The name of the program in the archives of earlier versions of PyTorch."""


class ArrayEntry(NamedTuple):
    """An array in an archive: the name of its entry, its type and strides, and whether it is pickled."""

    entry: str
    meta: TensorMeta | None
    is_pickled: bool


@dataclass(frozen=True, slots=True)
class ExportedArchive:
    """A program, and its arrays by their names in the module."""

    program: ExportedProgramData
    entries: Mapping[str, ArrayEntry]
    contents: Mapping[str, bytes]
    file_name: str | None

    def array(self, target: str) -> Any:
        """An array of the module; raises Malformed where there is none, Unsupported for a pickled one."""
        entry = self.entries.get(target)
        if entry is None:
            raise Malformed("the file does not have an array of the program", where=self.file_name, got=target)
        if entry.is_pickled or entry.meta is None:
            raise unsupported("construct", f"{target} is pickled; tagloom does not run pickled code",
                              hint="save plain tensors, not tensors of another class")  # fmt: skip
        storage = self.contents.get(entry.entry)
        if storage is None:
            raise Malformed("the file does not have the elements of an array", where=self.file_name, got=target)
        return read_elements(storage, entry.meta, target, self.file_name)


def read_elements(storage: bytes, meta: TensorMeta, target: str, where: str | None) -> Any:
    """The array in a storage; raises Malformed if it reaches beyond."""
    dtype = meta.type.dtype.numpy
    sizes, strides = numbers_or_zero(meta.sizes), numbers_or_zero(meta.strides)
    offset = meta.offset or 0
    is_known = None not in (*meta.sizes, *meta.strides, meta.offset) and len(sizes) == len(strides)
    last = offset + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=False))
    is_empty = math.prod(sizes) == 0
    required = 0 if is_empty else (last + 1) * dtype.itemsize
    too_large = len(sizes) > 64 or math.prod(size for size in sizes if size) > 2**48
    if not is_known or required > len(storage) or too_large:
        raise Malformed("an array is larger than its bytes in the file", where=where, required=f"{required:,} bytes",
                        got=f"{len(storage):,} for {target}")  # fmt: skip
    if is_empty:
        return np.zeros(sizes, dtype)
    flat = np.frombuffer(storage, dtype, count=len(storage) // dtype.itemsize)[offset:]
    view = np.lib.stride_tricks.as_strided(flat, sizes, [stride * dtype.itemsize for stride in strides])
    return np.array(view, order="C")


def numbers_or_zero(numbers: Sequence[int | None]) -> list[int]:
    """Sizes or strides; one that is known only at run time counts as 0."""
    return [number or 0 for number in numbers]


def check_element_count(entries: Mapping[str, ArrayEntry], file_size: int) -> None:
    """Bound the elements of all arrays: strides may repeat those of a small file, and arrays may share them."""
    total = sum(math.prod(numbers_or_zero(entry.meta.sizes)) for entry in entries.values() if entry.meta is not None)
    limit = max(2**26, 4 * file_size)
    if total > limit:
        raise unsupported("limit", "the arrays repeat the elements in the file too often",
                          required=f"at most {limit:,} elements", got=f"{total:,}")  # fmt: skip


def read_archive(content: bytes, where: str | None) -> ExportedArchive:
    """The program in the bytes of a .pt2 file; raises Malformed or Usage if there is none."""
    contents = read_entries(content, where)
    names = [name for name in contents if name.startswith("models/") and name.endswith(".json")]
    if OLD_MODEL in contents or (len(names) == 1 and weights_entry(names[0]) not in contents):
        raise Usage("this file is of an earlier version of PyTorch", where=where, required="a file of PyTorch 2.13",
                    hint="load it with that version, and save it with torch.export.save of a later one")  # fmt: skip
    if len(names) != 1:
        raise Usage("this file is not one exported program", where=where, required="one models/NAME.json",
                    got=", ".join(names[:10]) or "none", hint="torch.export.save writes one program")  # fmt: skip
    if contents.get("byteorder", b"little").strip() != b"little":
        raise Usage("this file was written by a machine of the other byte order", where=where)
    name = names[0].removeprefix("models/").removesuffix(".json")
    program = read_exported_program(parse_json(contents[names[0]], where))
    entries: dict[str, ArrayEntry] = {}
    for folder in ("weights", "constants"):
        config = contents.get(f"data/{folder}/{name}_{folder}_config.json")
        if config is not None:
            entries |= read_entries_config(parse_json(config, where), folder, where)
    check_element_count(entries, len(content))
    return ExportedArchive(program, entries, contents, where)


def weights_entry(model: str) -> str:
    """The name of the entry that lists the weights of a program, by the name of the entry with the program.

    >>> weights_entry("models/model.json")
    'data/weights/model_weights_config.json'
    """
    name = model.removeprefix("models/").removesuffix(".json")
    return f"data/weights/{name}_weights_config.json"


def read_entries(content: bytes, where: str | None) -> dict[str, bytes]:
    """The entries of an archive without its outermost folder, except samples. They are not compressed, so they are not
    larger than the archive."""

    def refuse(actual: object) -> NoReturn:
        raise Malformed("this is not a file of torch.export.save", where=where, got=actual) from None

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            if len(infos) > MAX_ENTRIES or sum(info.file_size for info in infos) > len(content):
                refuse("entries that are larger than the file")
            if any(info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1 for info in infos):
                refuse("a compressed or encrypted entry")
            return {
                info.filename.partition("/")[2]: archive.read(info)
                for info in infos
                if not info.filename.partition("/")[2].startswith(("data/sample_inputs/", "extra/"))
            }
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, NotImplementedError) as error:
        refuse(error)


def parse_json(content: bytes, where: str | None) -> Any:
    """The data of an entry; raises Malformed if it is no JSON."""
    if len(content) > MAX_MODEL_BYTES:
        raise Usage("this program is too large", where=where, required=f"at most {MAX_MODEL_BYTES:,} bytes of JSON",
                    got=f"{len(content):,}")  # fmt: skip
    try:
        return json.loads(content.decode())
    except (ValueError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed("an entry of this file is not JSON", where=where, got=str(error)[:200]) from None


def read_entries_config(config: Any, folder: str, where: str | None) -> dict[str, ArrayEntry]:
    """The arrays of a folder of the archive, by their names in the module."""
    try:
        return {
            read_text(target): ArrayEntry(
                f"data/{folder}/{read_text(description['path_name'])}",
                None if description.get("tensor_meta") is None else read_meta(description["tensor_meta"]),
                read_bool(description["use_pickle"]),
            )
            for target, description in config["config"].items()
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = f"{type(error).__name__}: {error}"[:200]
        raise Malformed("the list of the arrays in this file is damaged", where=where, got=problem) from None
