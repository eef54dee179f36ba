"""Blocking calls become starts and waits; a wait for many operations becomes single waits.

Moving the start and the wait apart belongs in ``motion``.
"""
