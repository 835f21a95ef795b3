"""JAX: converted Python whose control flow is that of `jax.lax`."""
