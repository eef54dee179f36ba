"""The table of MPI procedures: one row each, spelled as in the standard, by chapter of MPI-4.0.

A row says what the standard says of a procedure and its machine-readable form (apis.json) does
not.  ``row`` defines the columns; ``rows`` joins the chapters.
"""
