"""Reaching definitions in one program unit, and what follows from them (``UnitFacts``)."""
