"""Single-valuedness in SPMD programs: which values all ranks of a communicator compute alike."""
