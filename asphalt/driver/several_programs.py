"""Whether a tree is several programs: one that is read as one would be judged by the wrong module.

Collections of cases have a folder for each, with copies of a module in each folder.  Then a USE
statement does not say which copy it means, and what is proved of one is not proved of another.
"""

from __future__ import annotations

from collections.abc import Iterator

from asphalt.diagnostics.model import ProblemReport
from asphalt.frontend.source_tree.tree import Tree
from asphalt.ir.stmt import Use
from asphalt.ir.tree import leaves


def several_programs(tree: Tree) -> Iterator[ProblemReport]:
    """A note, if there are several main programs and one uses a module that several files
    define."""
    mains = tree.main_programs()
    if len(mains) < 2:
        return
    for main in mains:
        used = (leaf.what for node in main.unit.spec for leaf in leaves(node))
        for name in (one.module for one in used if isinstance(one, Use)):
            files = tree.defined_in("module", name)
            if len(files) > 1:
                yield ProblemReport(
                    main.path,
                    None,
                    f"is one of {len(mains)} main programs, and {len(files)} files define its "
                    f"module {name} ({files[0]}, {files[1]}): these are several programs, and "
                    "nothing is known of such a module here; give the files of one program at a "
                    "time",
                    note=True,
                )
                return
