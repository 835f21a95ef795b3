"""Training on several workers with parameter servers: servers own the variables, and workers compute gradients."""
