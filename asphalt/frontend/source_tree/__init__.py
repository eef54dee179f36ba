"""A whole source tree: its files, what each holds, and what is kept of it from run to run.

Reading one file belongs in ``lexical``, ``structure`` and ``statements``.
"""
