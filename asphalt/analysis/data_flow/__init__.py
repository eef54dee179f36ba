"""Reaching definitions in one program unit, and analyses that depend on them (``UnitFacts``).

Facts about one statement belong in ``memory``, facts about called procedures in ``effects``.
"""
