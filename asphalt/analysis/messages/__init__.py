"""Point-to-point and collective operations as messages: envelopes, matching, order.

Requests and their completion belong in ``requests``, what MPI procedures do in ``mpi``.
"""
