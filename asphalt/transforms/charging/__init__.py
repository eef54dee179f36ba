"""Instrumentation for simulated time: the text of a program with calls that charge its operations."""
