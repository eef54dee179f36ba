"""The geometry of tiles: what one computes and sends; edge and interior iterations; the plan.

Whether tiles are legal belongs in ``conditions``, their text in ``transforms.prepush`` and
``transforms.tiling``.
"""
