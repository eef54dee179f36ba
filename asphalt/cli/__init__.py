"""The command line: one module for each subcommand, their shared options, and ``main``."""
