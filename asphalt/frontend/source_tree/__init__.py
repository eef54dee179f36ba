"""A whole source tree: its files, what each holds, and what is cached of it between runs.

Reading one file belongs in ``lexical``, ``structure`` and ``statements``.
"""
