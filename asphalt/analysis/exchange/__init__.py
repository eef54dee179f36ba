"""Recognition of exchanges: the call or its open-coded form, its wrappers and its producer.

Whether an exchange may be prepushed belongs in ``conditions``.
"""
