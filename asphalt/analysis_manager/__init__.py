"""The analyses of a source tree: made once, kept, invalidated by edits (LLVM: AnalysisManager).

The analyses themselves stand in ``analysis``.
"""
