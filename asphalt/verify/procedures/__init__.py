"""Calls procedures of the original and of the transformed program, and compares results."""
