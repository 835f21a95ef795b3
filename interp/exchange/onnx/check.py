"""The process that reads a model's file first. If the model keeps ONNX's rules, `python check.py FILE` writes it, with
the tensors of its other files, to standard output.

ONNX's parser and checker run here, under bounds on memory and time. To start quickly, this file imports nothing of
tagloom.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

import onnx
from onnx.external_data_helper import ExternalDataInfo, load_external_data_for_tensor, uses_external_data

MAX_BYTES = 8 * 2**30
"""The most memory of this process, for any model."""
BASE_BYTES, BYTES_PER_BYTE = 2**30, 64
"""The most memory of this process: the first for an empty model, and the second more for each byte of it."""
MAX_SECONDS = 100
"""The most processor time of this process."""


def limit_resources(size: int) -> None:
    """Bound processor time, and memory for a model of this many bytes, where the system can."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        memory_limit = min(BASE_BYTES + BYTES_PER_BYTE * size, MAX_BYTES)
        resource.setrlimit(resource.RLIMIT_AS, (memory_limit, MAX_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS + 5))


def load(path: Path) -> onnx.ModelProto:
    """The model of a file, with all its tensors. Raises ValueError for tensors outside the file's folder."""
    sizes = {path: path.stat().st_size}
    limit_resources(sum(sizes.values()))
    model = onnx.load(str(path), load_external_data=False)
    folder = path.resolve().parent
    for tensor in onnx.external_data_helper._get_all_tensors(model):
        if uses_external_data(tensor):
            location = (folder / ExternalDataInfo(tensor).location).resolve()
            if not location.is_relative_to(folder) or not location.is_file():
                raise ValueError(f"the data of tensor {tensor.name!r} is not in a file of the model's folder")
            sizes[location] = location.stat().st_size
            limit_resources(sum(sizes.values()))
            load_external_data_for_tensor(tensor, str(folder))
            tensor.data_location = onnx.TensorProto.DEFAULT
            del tensor.external_data[:]
    onnx.checker.check_model(model)
    return model


def main() -> int:
    """Write the model that the first argument names; returns the exit code."""
    try:
        content = load(Path(sys.argv[1])).SerializeToString()
    except BaseException as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        print(f"{type(error).__name__}: {lines[0] if lines else 'no message'}", file=sys.stderr)
        return 1
    with open(1, "wb", closefd=False) as output:
        output.write(content)
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)
