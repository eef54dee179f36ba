"""What becomes of a source tree: all passes in order; reports on sites, transfers and findings."""
