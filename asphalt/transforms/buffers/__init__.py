"""Renaming and array expansion of message buffers, copies of them, and stores that nobody reads."""
