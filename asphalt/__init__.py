"""asphalt: make the communication of Fortran MPI programs overlap their computation, by proof."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asphalt.config.settings import Settings
    from asphalt.notebook.project import Project

__version__ = "0.1.0"
__all__ = ["Project", "Settings", "__version__"]


def __getattr__(name: str) -> Any:
    """Imported when asked for: the command line starts without the analysis."""
    if name == "Project":
        from asphalt.notebook.project import Project

        return Project
    if name == "Settings":
        from asphalt.config.settings import Settings

        return Settings
    raise AttributeError(f"module 'asphalt' has no attribute {name!r}")
