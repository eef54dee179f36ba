"""What all tests share."""

from __future__ import annotations

import os
import shutil

import pytest
from hypothesis import settings

from asphalt.analysis_manager.internal_errors import InternalErrors
from support.build_store import SHARED, new_store

# a failure of asphalt in one unit fails the test, although a command would go on
InternalErrors.raised = True
# how long an example takes is the machine's affair
settings.register_profile("asphalt", deadline=None)
# what decides about a change draws the same examples in every run
settings.register_profile("quick", settings.get_profile("asphalt"), derandomize=True)

# Open MPI takes what it takes for ranks of one machine anyway, without a look at other networks
for name, value in (("pml", "ob1"), ("btl", "self,vader")):
    os.environ.setdefault(f"OMPI_MCA_{name}", value)


def pytest_configure(config: pytest.Config) -> None:
    """The quick suite leaves nothing to chance; ``pytest -m wide`` draws new examples.

    All processes of one run share what they have compiled.
    """
    settings.load_profile("quick" if config.option.markexpr == "not wide" else "asphalt")
    if SHARED not in os.environ:
        os.environ[SHARED] = str(new_store())
        config.add_cleanup(_remove_store)


def _remove_store() -> None:
    shutil.rmtree(os.environ.pop(SHARED), ignore_errors=True)
