"""Measurements of the kernels on simulated and real machines."""
