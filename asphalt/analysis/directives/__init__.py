"""The ``!$asphalt`` directives of a source, and the assumptions that they accept."""
