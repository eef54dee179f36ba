"""Transformations: functions from IR to IR, each with its before and after in its docstring.

Whether a step gains anything is decided in ``optimiser`` and ``gain``.
"""
