"""Instrumentation for simulated time: calls that charge the cost of a program's operations."""
