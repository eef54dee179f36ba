"""The catalogue of codes with their examples, and the records of which reports consist.

How a record is shown belongs in ``report``.
"""
