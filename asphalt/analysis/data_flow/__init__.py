"""Reaching definitions in one program unit, and analyses that depend on them (``UnitFacts``)."""
