"""What becomes of a source tree: all passes in order; reports on sites, transfers and findings.

How one unit is optimised belongs in ``optimiser``, how a report looks in ``report``.
"""
