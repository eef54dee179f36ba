"""What all tests share."""

from __future__ import annotations

from hypothesis import settings

# how long an example takes is the machine's affair
settings.register_profile("asphalt", deadline=None)
settings.load_profile("asphalt")
