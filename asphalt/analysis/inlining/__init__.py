"""Whether a CALL may be replaced by the body of the procedure, and with which names."""
