"""Integer sets: the one place where isl is used.

``elements`` are sets of index tuples of one array, regions as values; a ``problem`` is a
conjunction of affine constraints that has a solution or none; both write polynomials as ``affine``
text for the ``solver``, whose budget is limited.
"""
