"""What must hold for a CALL to be replaced by the body of the procedure."""
