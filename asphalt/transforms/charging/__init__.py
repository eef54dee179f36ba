"""Instrumentation for simulated time: a program with calls that charge its operations."""
