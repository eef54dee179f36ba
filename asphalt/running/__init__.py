"""Runs commands under a time limit, with the MPIs of this machine and SimGrid.

What is compared belongs in ``verify``, what is simulated in ``simulation``.
"""
