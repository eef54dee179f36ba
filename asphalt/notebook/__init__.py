"""The Python interface: a project, its sites, plans, simulations; each shows itself in a notebook.

``asphalt.Project`` is the entry.  Everything here is public, and written for people who type it.
"""
