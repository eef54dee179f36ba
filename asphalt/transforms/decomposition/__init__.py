"""A collective operation as messages for each block."""
