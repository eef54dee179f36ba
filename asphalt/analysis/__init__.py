"""From the program to facts about it: what its names mean, what its MPI calls do, what may move.

Nothing here changes a program (``transforms``) or chooses among changes (``optimiser``).
"""
