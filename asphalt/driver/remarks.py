"""Why exchanges are not seen: modules that have two definitions, statements not understood."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from asphalt.analysis.call_graph.missing_sources import ambiguous_modules
from asphalt.analysis.exchange.site import all_to_all_operations
from asphalt.analysis.mpi.procedures import table
from asphalt.analysis_manager.user_units import user_units
from asphalt.diagnostics.model import ProblemReport
from asphalt.driver.sites import Site
from asphalt.frontend.lexical.raw_text import called_names
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.stmt import Opaque
from asphalt.ir.tree import leaves


def not_understood(tree: Tree) -> Iterator[ProblemReport]:
    """A note for each statement that names an exchange and could not be interpreted."""
    operations = all_to_all_operations()
    for located in tree.site_units(operations):
        for leaf in (leaf for node in located.unit.body for leaf in leaves(node)):
            what = leaf.what
            if isinstance(what, Opaque) and leaf.span is not None:
                names = what.names.union(called_names(what.code, located.form))
                for name in sorted(names & operations):
                    message = f"names {name.upper()}, and is not understood ({what.reason})"
                    yield ProblemReport(leaf.span.file, leaf.span.first, message, note=True)


def first_not_understood(tree: Tree) -> Iterator[ProblemReport]:
    """A note on the first statement of each unit that calls MPI that could not be interpreted."""
    for located in user_units(tree, frozenset(table())):
        for leaf in (leaf for node in located.unit.body for leaf in leaves(node)):
            what = leaf.what
            if isinstance(what, Opaque) and leaf.span is not None:
                message = (
                    f"{located.unit.name or 'the main program'}: this statement is not understood "
                    f"({what.reason}); correct it, or report it if compilers take it"
                )
                yield ProblemReport(leaf.span.file, leaf.span.first, message, note=True)
                break


def ambiguities(sites: Iterable[Site]) -> Iterator[ProblemReport]:
    """A note for each module that a site needs and that is defined more than once."""
    reported: set[str] = set()
    for site in sites:
        for module, text in ambiguous_modules(site.exchange.scope):
            if module not in reported:
                reported.add(module)
                message = f"{text}: nothing of it is known here"
                yield ProblemReport(site.report.file, None, message, note=True)
