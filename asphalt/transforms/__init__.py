"""Transformations: functions from IR to IR, each with its before and after in its docstring."""
