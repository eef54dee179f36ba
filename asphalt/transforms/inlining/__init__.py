"""Procedures that exchange messages, expanded in place; calls for both directions opened."""
