"""Which completion (MPI_Wait, MPI_Test ...) belongs to which start of a non-blocking operation.

What the messages are, and which ones match, belongs in ``messages``.
"""
