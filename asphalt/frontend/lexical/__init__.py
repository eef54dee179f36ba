"""From bytes to statements as text (F2018 clause 6): form, continuation, preprocessor, tokens.

Every character belongs to one statement or to trivia.  What a statement means belongs in
``frontend.statements``.
"""
