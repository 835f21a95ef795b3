"""The distribution of generated programs: `python tests/distribution.py [N]` prints it."""

from __future__ import annotations

import statistics
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from hypothesis import HealthCheck, Phase, given, settings
from support.generators.generator import Case, cases
from tagloom.core.graph.lower import lower
from tagloom.core.program.program import Program, Region
from tagloom.interp.engines.limits import Limits
from tagloom.interp.engines.reference import run_graph


def recursive(program: Program) -> set[str]:
    """The functions that can reach themselves by calls."""
    direct = {f.name: {n.attribute("function") for n in f.body.walk() if n.op == "call"} for f in program.functions}

    def reached(name: str) -> set[str]:
        results: set[str] = set()
        pending = list(direct[name])
        while pending:
            callee = pending.pop()
            if callee not in results:
                results.add(callee)
                pending += direct[callee]
        return results

    return {name for name in direct if name in reached(name)}


def loops_with_recursion(program: Program) -> bool:
    """Whether a loop has a recursive call in it, or a recursive function has a loop in it."""
    names = recursive(program)

    def in_loop(region: Region, inside: bool) -> bool:
        for node in region.nodes:
            if inside and node.op == "call" and node.attribute("function") in names:
                return True
            if any(in_loop(inner, inside or node.op == "while_loop") for inner in node.regions):
                return True
        return False

    under = any(
        node.op == "while_loop" for f in program.reachable_functions() if f.name in names for node in f.body.walk()
    )
    return under or any(in_loop(f.body, False) for f in program.reachable_functions())


def distribution(count: int) -> dict[str, float]:
    """Draw programs, run them, and count their features."""
    firings: list[int] = []
    kinds: Counter[str] = Counter()
    ops: Counter[str] = Counter()
    drawn: set[object] = set()

    @settings(max_examples=count, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(cases())
    def draw(case: Case) -> None:
        outcome = run_graph(lower(case.program), case.arguments, limits=Limits(firings=5_000))
        firings.append(outcome.firings)
        nodes = [node for f in case.program.reachable_functions() for node in f.body.walk()]
        kinds.update([outcome.status])
        kinds.update({node.op for node in nodes if node.op in ("cond", "while_loop", "call")})
        kinds.update(["recursion"] * bool(recursive(case.program)))
        kinds.update(["loop with recursion in it or under it"] * loops_with_recursion(case.program))
        ops.update(node.op for node in nodes)
        drawn.update(result.type.dtype for node in nodes for result in node.results)

    draw()
    total = len(firings)
    shares = {kind: number / total for kind, number in kinds.most_common()}
    return {
        "programs": total,
        "first quartile of firings": statistics.quantiles(firings)[0],
        "median firings": statistics.median(firings),
        "third quartile of firings": statistics.quantiles(firings)[2],
        "mean firings": statistics.mean(firings),
        "most firings": max(firings),
        **shares,
        "ops drawn": len(ops),
        "dtypes drawn": len(drawn),
    }


def ops_drawn(count: int) -> set[str]:
    """The ops in this many generated programs, which are not run."""
    results: set[str] = set()

    @settings(max_examples=count, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(cases(arrays=True))
    def draw(case: Case) -> None:
        results.update(node.op for f in case.program.reachable_functions() for node in f.body.walk())

    draw()
    return results


if __name__ == "__main__":
    for name, number in distribution(int(sys.argv[1]) if len(sys.argv) > 1 else 1000).items():
        print(f"{name:40} {number:10.2f}" if number < 1 else f"{name:40} {number:10.0f}")
