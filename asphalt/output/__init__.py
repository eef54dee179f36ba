"""Writing: whole trees or in place, every file either old or new, nobody else's file lost."""
