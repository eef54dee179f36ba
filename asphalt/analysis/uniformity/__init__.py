"""Single-valuedness in SPMD programs: values that all ranks of a communicator compute alike."""
