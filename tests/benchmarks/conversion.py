"""What conversion of Python functions costs.

    python tests/benchmarks/conversion.py

For each function of papers_examples, the processor time of its conversion when its file has been read, the least of
three; and for each file, the time of reading it and converting all of its functions once. Promised are at most 5 ms for
a function (the median), and 100 ms for the largest example, which is a function with all that it calls.
"""

import inspect
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

from tagloom.core.frontend.source.convert import convert_code
from tagloom.core.frontend.source.reader import NotConvertible, read_source

EXAMPLES = Path(__file__).resolve().parents[2] / "papers_examples"


def functions_of(file: Path) -> Iterator[CodeType]:
    """The code of the functions and methods of a file, without those inside of functions."""
    pending = [compile(file.read_text(encoding="utf-8"), str(file), "exec", dont_inherit=True)]
    for code in pending:  # a worklist: the loop appends to it
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                if not constant.co_flags & inspect.CO_OPTIMIZED:
                    pending.append(constant)  # the body of a class
                elif constant.co_name.isidentifier():
                    yield constant


def conversion_time(code: CodeType, repetitions: int = 3) -> float:
    """The least processor time of a conversion, in milliseconds."""
    times = []
    for _ in range(repetitions):
        start = time.process_time()
        convert_code(code)
        times.append(time.process_time() - start)
    return 1000.0 * min(times)


def is_convertible(code: CodeType) -> bool:
    try:
        read_source(code)
    except NotConvertible:
        return False
    return True


def main() -> None:
    convert_code(conversion_time.__code__)  # the first conversion parses the templates
    rows = []
    for file in sorted(EXAMPLES.glob("*/*.py")):
        start = time.process_time()
        codes = [code for code in functions_of(file) if is_convertible(code)]
        reading = 1000.0 * (time.process_time() - start)
        each = [(conversion_time(code), code.co_name) for code in codes]
        rows.append((reading, each, f"{file.parent.name}/{file.name}"))
    times = [cost for _, each, _ in rows for cost, _ in each]
    print(f"Python {sys.version.split()[0]}, {len(times)} functions of {len(rows)} files; processor time\n")
    print("| | milliseconds |", "|---|---|", sep="\n")
    print(f"| a function: the median | {statistics.median(times):.1f} |")
    print(f"| 9 in 10 functions at most | {sorted(times)[len(times) * 9 // 10]:.1f} |")
    cost, name = max((*cost, file)[:2] for _, each, file in rows for cost in each)
    print(f"| the function that costs most, `{name}` | {cost:.1f} |")
    for reading, each, file in sorted(rows, key=lambda row: -row[0] - sum(cost for cost, _ in row[1]))[:3]:
        total = reading + sum(cost for cost, _ in each)
        print(f"| {file}: reading and all of its {len(each)} functions | {total:.0f}, {reading:.0f} of it reading |")


if __name__ == "__main__":
    main()
