"""Exchanges of messages that are whole: what all ranks send in one statement, they receive there.

Such a statement can be left out on all ranks together, or be done together with another one.
"""
