"""Runs commands under a time limit, with the MPIs of this machine and SimGrid."""
