"""Point-to-point and collective operations as messages: envelopes, matching, order."""
