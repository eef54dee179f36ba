"""What several tests use: programs, oracles, runs."""
