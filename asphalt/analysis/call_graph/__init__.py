"""Who calls whom with which arguments, and under which conditions a statement is reached."""
