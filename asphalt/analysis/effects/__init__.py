"""Interprocedural side effects (MOD and REF): summaries of procedures, and argument association.

Known libraries and error handlers belong here, too.
"""
