"""Whole exchanges: those that repeat an earlier one are left out, and several become one."""
