"""The program as small frozen dataclasses; every node knows the source text it came from.

Nothing here knows MPI, files on disk or analyses.
"""
