"""The optimiser of transfers, one unit at a time: ``asphalt.optimise`` is its front."""
