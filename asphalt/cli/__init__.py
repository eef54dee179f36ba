"""The command line: one module a subcommand, ``main`` puts them together."""
