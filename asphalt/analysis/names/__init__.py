"""Semantic analysis: what a name is in a scope, its type, its kind and its constant value.

USE and host association, generic names, IMPLICIT, COMMON and intrinsic procedures belong here; the
storage behind a name belongs in ``memory``.
"""
