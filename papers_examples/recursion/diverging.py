"""Divergence: fac(n) = fac(n) calls itself for ever, until a limit ends it.

The graph is as static as any other; only the tags grow, by one step per call. The run ends Exhausted, without a result,
after as many calls as the limit allows: each call fires two nodes, the merge of n and the call itself.

Source: "Recursive functions in static dataflow graphs", arXiv 2410.20225, and the thesis of the same title (2018).
"""

import tagloom as tl


@tl.function
def fac(n: tl.int64) -> tl.int64:
    return fac(n)


EXPECTED = [
    {
        "run": ("fac", 6),
        "result": None,
        "calls": {"fac": 501},
        "status": "Exhausted",
        "max_firings": 1000,
        "size": "quick",
    },
]


if __name__ == "__main__":
    out = fac.run(6, limits=tl.Limits(firings=1000))
    print(f"{out.status} after {out.stats.firings:,} firings, in {out.activations()['fac']} open calls of fac")
