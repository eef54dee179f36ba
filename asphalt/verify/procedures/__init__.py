"""Procedures of the original and of the transformed program, called side by side."""
