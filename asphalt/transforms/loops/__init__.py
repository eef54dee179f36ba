"""Loop transformations: index-set splitting, peeling, fission, rotation, unrolling."""
