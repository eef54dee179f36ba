"""What a transformation of transfers gains: the time of a unit before and after it, estimated."""
