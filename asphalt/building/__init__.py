"""asphalt in front of a compiler: what a build compiles, transformed on the way.

``wrapped.py`` does one command of a build; what its words mean says ``compiler_words.py``, what the
whole build compiles ``database.py``, what becomes of that ``program.py``, and what objects rest on
``marks.py``.
"""
