"""The geometry of tiles: what one computes and sends; edge and interior iterations; the plan."""
