"""The form of an answer: a code, a refusal with its place, what holds under which assumptions.

The codes of transformation steps stand here; those of a condition stand beside its check.
"""
