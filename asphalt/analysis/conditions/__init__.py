"""The conditions of a legal prepush, a module each with its code, and the judge that asks them."""
