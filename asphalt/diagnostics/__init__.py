"""The catalogue of codes with their examples, and the records that every report is made from.

How a record is shown belongs in ``report``.
"""
