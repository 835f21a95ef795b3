"""A process that speaks the conformance protocol, and misbehaves in the way that its argument names."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

HELLO = {"reply": "hello", "protocol": 1, "name": "bad", "version": "1", "language": "Python"}
ONE = {"dtype": "int64", "data": 1}


def misbehave(way: str, request: dict[str, Any], runs: int) -> dict[str, Any]:
    """The reply to a request to run: right but for the way in which this backend is wrong."""
    seq, results = request["seq"], [ONE]
    match way:
        case "hang":
            time.sleep(1000)
        case "slow":
            time.sleep(0.2)
        case "child":
            if not os.fork():
                time.sleep(1000)
            time.sleep(1000)
        case "crash":
            sys.stderr.write("the end is near\n")
            sys.stderr.flush()
            os.kill(os.getpid(), signal.SIGSEGV)
        case "exit":
            sys.exit(7)
        case "memory":
            hoard = []
            while True:
                hoard.append(bytearray(os.urandom(1 << 20) * 16))
        case "sequence":
            seq += 1
        case "count":
            results = [ONE, ONE]
        case "dtype":
            results = [{"dtype": "int32", "data": 1}]
        case "shape":
            results = [{"dtype": "int64", "shape": [1], "data": [1]}]
        case "words":
            sys.stdout.write("almost done\n")
        case "no end":
            sys.stdout.write('{"seq": 3')
            sys.stdout.flush()
            time.sleep(1000)
        case "flood":
            sys.stderr.write("x" * (1 << 20))
        case "silence":
            os.close(1)
            time.sleep(1000)
        case "variation":
            results = [{"dtype": "int64", "data": 1 + runs // 21}]
        case "loss" if runs > 20:
            results = []
        case "levels" if "eager" in sys.argv[2:]:
            pass
        case "flags" | "levels" if "folding" not in sys.argv[2:]:
            results = [{"dtype": "int64", "data": 2}]
        case "error":
            return {"seq": seq, "reply": "error", "message": "RuntimeError: no luck"}
        case "trap":
            return {"seq": seq, "reply": "trapped", "message": "no value"}
        case "reply":
            return {"seq": seq, "reply": "perhaps"}
    return {"seq": seq, "reply": "returned", "results": results}


def main(way: str) -> None:
    """Answer requests."""
    runs = 0
    if way == "start":
        sys.exit("no licence")
    for line in sys.stdin:
        request = json.loads(line)
        seq = {"seq": request["seq"]}
        match request["request"]:
            case "hello":
                reply = {**seq, **HELLO}
                if way == "version":
                    reply["protocol"] = 2
                if way == "op":
                    reply["ops"] = ["substract"]
                if way == "construct":
                    reply["constructs"] = ["loops"]
                if way == "levels":
                    reply["levels"] = [
                        {"name": "eager", "part": "kernels"},
                        {"name": "compiled", "part": "the compiler"},
                    ]
                if way == "flags":
                    reply["flags"] = ["motion", "folding"]
            case "compile":
                reply = {**seq, "reply": "compiled", "program": 0}
            case "run":
                runs += 1
                reply = misbehave(way, request, runs)
            case "drop":
                reply = {**seq, "reply": "dropped"}
            case "bye":
                if way == "deaf":
                    continue
                reply = {**seq, "reply": "bye"}
        print(json.dumps(reply), flush=True)
        if reply["reply"] == "bye" and way != "lingering":
            break
    if way in ("deaf", "lingering"):
        time.sleep(1000)


if __name__ == "__main__":
    main(sys.argv[1])
