"""The length of a vector in JAX, and its gradient, imported.

`tagloom run docs/case_studies/norm.py "[0.0, 0.0]"` says that the gradient at 0 is NaN, although `where` chooses the
other branch there. It needs `pip install "tagloom[jax]"`.
"""

import jax
import jax.numpy as jnp
import tagloom as tl


def norm(x):
    squares = jnp.sum(x * x)
    return jnp.where(squares > 0.0, jnp.sqrt(squares), 0.0)


main = tl.from_jax(jax.grad(norm), jnp.zeros(2))
