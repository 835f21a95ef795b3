"""Gradients of generated programs beside those of a peer: `python tests/peer_gradients.py [N] [PEER...]`.

N programs without recursion are differentiated here and by JAX, once and twice; N with recursion here and by PyTorch's
tape; some of both keep values in cells. One line for each peer summarizes the results. Exits with 1 if adjoints differ,
if more than a twentieth of the programs could not be compared, or if a requested peer is not installed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from peers import MODULES, Peer, installed
from peers.compare import Verdict, verdict
from support.generators.generator import Case
from support.generators.smooth_programs import smooth_cases

RECURSIVE = {"jax": False, "torch": True}
"""Whether a peer is compared on recursive programs."""
MOST_LEFT_OUT = 0.05


def verdicts(peer: Peer, count: int, *, recursive: bool) -> list[tuple[Case, Verdict]]:
    """This many programs, the same each time, each with its verdict."""
    results = []

    @seed(1)
    @settings(max_examples=count, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(st.booleans().flatmap(lambda by_cells: smooth_cases(recursive=recursive, by_cells=by_cells)))
    def draw(case: Case) -> None:
        results.append((case, verdict(case, peer)))

    draw()
    return results


def said(found: list[tuple[Case, Verdict]]) -> str:
    """One line: how many programs agree, and why others do not."""
    kinds = Counter(each.kind for _, each in found)
    reasons = Counter(each.why for _, each in found if each.kind == "left out")
    why = f" ({', '.join(f'{count} {reason}' for reason, count in reasons.most_common())})" if reasons else ""
    slopes = sum(each.slopes for _, each in found)
    counts = f"{kinds['alike']} alike, {kinds['different']} different, {kinds['left out']} left out{why}"
    programs = [[node.op for of in case.program.functions for node in of.body.walk()] for case, _ in found]
    celled = sum("cells" in ops for ops in programs)
    return f"{len(found)} programs: {counts}; {slopes} have adjoints other than 0, {celled} have cells"


def main(count: int, modules: Sequence[str]) -> int:
    """Compare with peers, and print; returns 1 on failure."""
    failed = 0
    for module in modules or MODULES:
        peer = installed(module)
        if peer is None:
            print(f"{module} is not installed")
            failed |= bool(modules)
            continue
        result = verdicts(peer, count, recursive=RECURSIVE[module])
        for case, each in result:
            if each.kind == "different":
                print(f"{each.why}\n{case}\n")
        kinds = Counter(each.kind for _, each in result)
        failed |= kinds["different"] > 0 or kinds["left out"] > MOST_LEFT_OUT * count
        print(f"{peer.name}, {'with' if RECURSIVE[module] else 'without'} recursion: {said(result)}")
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Gradients of generated programs beside those of a peer.")
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("peers", nargs="*", metavar="PEER")
    asked = parser.parse_args()
    sys.exit(main(asked.count, asked.peers))
