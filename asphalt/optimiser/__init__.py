"""The search for the best sequence of steps for one program unit.

Each step is a transformation of ``transforms``; what it saves comes from ``gain`` or
``simulation``.
"""
