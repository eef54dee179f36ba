"""Single-valuedness in SPMD programs: values that all ranks of a communicator compute alike.

Groups of ranks and communicators belong here, too; conditions on the own rank in ``messages``.
"""
