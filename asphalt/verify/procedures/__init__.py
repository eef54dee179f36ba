"""Calls procedures of the original and of the transformed program, and compares results.

Comparing whole programs belongs in ``verify``.
"""
