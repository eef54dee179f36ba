"""Overlap windows, and code motion into them."""
