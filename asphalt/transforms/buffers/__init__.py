"""Renaming and array expansion of message buffers, copies of them, and stores that nobody reads.

Which element a message touches belongs in ``analysis.memory`` and ``analysis.messages``.
"""
