"""What all tests share."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from zlib import crc32

import pytest
from hypothesis import settings

from asphalt.analysis_manager.internal_errors import InternalErrors
from asphalt.running.mpi import Mpi
from support.build_store import SHARED, new_store
from support.mpi_run import QUICK, failed_runs
from support.shared_rewriting import rewrite_a_part

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
    if config.option.markexpr == "not wide":
        settings.load_profile("quick")
        os.environ[QUICK] = "1"
    else:
        settings.load_profile("asphalt")
    if SHARED not in os.environ:
        os.environ[SHARED] = str(new_store())
        config.add_cleanup(_remove_store)
    rewrite_a_part(config)


def _remove_store() -> None:
    shutil.rmtree(os.environ.pop(SHARED), ignore_errors=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that runs the same program under several MPIs does so with one of them in the quick
    suite, which its name chooses; with the others in the wide one.  The runtime's own tests run
    with all."""
    versions: dict[str, dict[str, list[pytest.Item]]] = {}
    for item in items:
        if "runtime" not in item.path.parts and (others := _beside_mpi(item)) is not None:
            test = item.nodeid.partition("[")[0]
            versions.setdefault(test, {}).setdefault(others, []).append(item)
    for test, by_parameters in versions.items():
        for number, found in enumerate(by_parameters.values(), crc32(test.encode())):
            for item in found:
                if item is not found[number % len(found)]:
                    item.add_marker("wide")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test tells of its own runs."""
    failed_runs.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that fails tells which of its programs ended with an error, and how."""
    report = yield
    if report.failed and failed_runs:
        report.sections.append(("Programs that ended with an error", "\n\n".join(failed_runs)))
    return report


def _beside_mpi(item: pytest.Item) -> str | None:
    """The parameters of a test but for the MPI; None: it has not one MPI."""
    call = getattr(item, "callspec", None)
    values = {} if call is None else call.params
    chosen = [name for name, value in values.items() if isinstance(value, Mpi)]
    if len(chosen) != 1:
        return None
    return repr(sorted((name, value) for name, value in values.items() if name not in chosen))
