"""The eleven conditions of a legal prepush, one module each, and the codes that they raise.

Each of them was broken by a real program when it was left out.
"""
