"""Checking on the machine what was proved: original and transformed program, run side by side."""
