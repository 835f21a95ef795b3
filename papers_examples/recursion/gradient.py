"""The gradient of a recursion, and one step of gradient descent.

The reverse pass of a call runs under the tag of that call: x * fac(x - 1) waits there with its operands until the
adjoint comes, and then sends another adjoint to the inner call. There is no stack, and no call runs twice: d fac(5.0)
takes 5 calls of fac, as fac(5.0) does.

d fac(5.0) = 5*4*3*2 (1/5 + 1/4 + 1/3 + 1/2) = 154. One step of gradient descent on fac(v + 1), from v = 4 with learning
rate 0.01, leads to 4 - 0.01 * 154 = 2.46.

Source: "Recursive functions in static dataflow graphs", arXiv 2410.20225, and the thesis of the same title (2018).
"""

import tagloom as tl


@tl.function
def fac(x: tl.float64) -> tl.float64:
    return 1.0 if x <= 1.0 else x * fac(x - 1.0)


@tl.function
def main(x: tl.float64) -> tl.float64:
    return tl.grad(fac)(x)


@tl.function
def loss(v: tl.float64) -> tl.float64:
    return fac(v + 1.0)


@tl.function
def step(v: tl.float64) -> tl.float64:
    return v - 0.01 * tl.grad(loss)(v)


EXPECTED = [
    {"run": ("fac", 5.0), "result": 120.0, "calls": {"fac": 5}, "size": "quick"},
    {
        "run": ("main", 5.0),
        "result": 154.0,
        "calls": {"main": 1, "grad_fac": 1, "fac_split": 5},
        "size": "quick",
    },
    {
        "run": ("step", 4.0),
        "result": 2.46,
        "calls": {"step": 1, "grad_loss": 1, "loss_split": 1, "fac_split": 5},
        "size": "quick",
    },
]


if __name__ == "__main__":
    print("fac(5.0) =", fac(5.0))
    print("its derivative there:", main(5.0))
    print("4.0 after one step of gradient descent on fac(v + 1):", step(4.0))
