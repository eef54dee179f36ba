"""Recognition of exchanges among all ranks: the call or its open-coded form, wrapper and producer.

Whether an exchange may be prepushed belongs in ``conditions``.
"""
