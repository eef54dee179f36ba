"""Legality of inlining: whether the body of a procedure may replace a CALL, under which names."""
