"""The command line: one module for each subcommand, their shared options, and ``main``.

Commands only read options, call ``asphalt.Project`` and print; decisions belong below.
"""
