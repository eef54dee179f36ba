"""What asphalt tells about the sites it found, for people and for programs."""
