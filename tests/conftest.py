"""What all tests share."""

from __future__ import annotations

import pytest
from hypothesis import settings

from asphalt.analysis_manager.internal_errors import InternalErrors

# a failure of asphalt in one unit fails the test, although a command would go on
InternalErrors.raised = True
# how long an example takes is the machine's affair
settings.register_profile("asphalt", deadline=None)
# what decides about a change draws the same examples in every run
settings.register_profile("quick", settings.get_profile("asphalt"), derandomize=True)


def pytest_configure(config: pytest.Config) -> None:
    """The quick suite leaves nothing to chance; ``pytest -m wide`` draws new examples."""
    settings.load_profile("quick" if config.option.markexpr == "not wide" else "asphalt")
