"""Interprocedural side effects (MOD and REF): summaries of procedures, and their arguments bound.

Known libraries and error handlers belong here, too.
"""
