"""What the MPI standard says: procedures, arguments, effects, datatypes; a CALL as an MPI call.

What a program does with its messages belongs in ``messages`` and ``requests``; the table of all
procedures is ``mpi.standard``.
"""
