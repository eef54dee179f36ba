"""Models of machines: what operations cost, networks, and the platform files of SimGrid."""
