"""``python -m asphalt``: the command line."""

from asphalt.cli.main import run

if __name__ == "__main__":
    run()
