"""JAX: converted Python with the control flow of `jax.lax`."""
