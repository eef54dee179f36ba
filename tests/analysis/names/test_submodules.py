"""What submodules have from their ancestors, and where the bodies of their procedures are."""

from __future__ import annotations

import pytest

from asphalt.analysis.call_graph.call_sites import CallSites
from asphalt.analysis.call_graph.operators import definitions_visible
from asphalt.analysis.memory.ranks import gives_array
from asphalt.analysis.memory.reallocation import may_allocate
from asphalt.analysis.names.generic_names import specific_of
from asphalt.analysis.names.resolve import is_separate_body, procedure_named, separate_body
from asphalt.analysis.names.scopes import Absence, Origin, Scope, Scopes, element_bytes
from asphalt.ir.expr import Lit, Ref
from asphalt.ir.stmt import Call
from support.fortran_program import FortranProgram

_ROOT = """
module root
  use mpi, only: mpi_comm_world
  implicit real(8) (a-h)
  private
  integer, parameter :: wp = kind(1d0)
  integer :: hidden, shadowed
  real(wp) :: field(9)
  interface smooth
    module subroutine smooth_one(x)
      real(wp), intent(inout) :: x
    end subroutine
    module subroutine smooth_all(x)
      real(wp), intent(inout) :: x(:)
    end subroutine
  end interface
  interface
    module subroutine reset()
    end subroutine
    module subroutine lost()
    end subroutine
    module subroutine twice()
    end subroutine
  end interface
  public :: smooth
contains
  subroutine plain()
    call reset()
  end subroutine
end module
"""
_MIDDLE = """
submodule (root) middle
  integer :: shadowed, counter
contains
  module subroutine smooth_one(x)
    real(wp), intent(inout) :: x
    x = undeclared
    call smooth(field)
  end subroutine
  module subroutine reset()
    call own()
  end subroutine
  subroutine own()
    hidden = 0
  end subroutine
  module subroutine twice()
  end subroutine
end submodule
"""
_LEAF = """
submodule (root:middle) leaf
  integer :: leaves
contains
  module subroutine smooth_all(x)
    real(wp), intent(inout) :: x(:)
    counter = shadowed
    call own()
  end subroutine
  module subroutine twice()
  end subroutine
end submodule
"""
_OTHERS = """
module other
  integer :: hidden
  interface
    module subroutine put()
    end subroutine
  end interface
contains
  subroutine user()
    use root
    real(8) :: y(9)
    call smooth(y)
  end subroutine
end module
submodule (other) middle
  integer :: counter
contains
  module procedure put
    hidden = n
  end procedure
end submodule
subroutine lost()
end subroutine
"""


def _scopes(*texts: str) -> tuple[FortranProgram, Scopes]:
    program = FortranProgram(*(texts or (_ROOT, _MIDDLE, _LEAF, _OTHERS)))
    return program, Scopes(program)


def _scope(*chain: str) -> Scope:
    program, scopes = _scopes()
    return scopes.of(program.at(*chain))


def _owner(scope: Scope, name: str) -> str:
    found = scope.lookup(name)
    assert found is not None, name
    return found.owner


def test_names_of_all_ancestors_are_seen() -> None:
    """Private names, what the module uses, types, and what a submodule declares anew."""
    scope = _scope("leaf", "smooth_all")
    assert _owner(scope, "hidden") == "root"
    assert _owner(scope, "shadowed") == "root:middle"
    assert _owner(scope, "leaves") == "root:leaf"
    world = scope.lookup("mpi_comm_world")
    assert world is not None
    assert world.origin is Origin.MPI
    assert _owner(_scope("middle"), "field") == "root"


def test_a_submodule_has_its_own_implicit_types() -> None:
    """Unlike a module procedure (F2018 8.7)."""
    bare = "module m\n  implicit real(8) (a-h)\ncontains\n  subroutine s\n    b = 1\n  end\nend\n"
    below = "submodule (m) n\ncontains\n  subroutine t\n    b = 1\n  end\nend\n"
    program, scopes = _scopes(bare, below)
    for chain, kind in ((("m", "s"), Lit("integer", "8")), (("n", "t"), None)):
        symbol = scopes.of(program.at(*chain)).lookup("b")
        assert symbol is not None
        assert symbol.type is not None
        assert symbol.type.kind == kind


def test_variables_of_two_submodules_of_one_name_are_two() -> None:
    program, scopes = _scopes()
    middle = [one for one in program.all if one.unit.name == "middle"]
    symbols = [scopes.of(one).lookup("counter") for one in middle]
    assert [symbol.owner for symbol in symbols if symbol is not None] == [
        "root:middle",
        "other:middle",
    ]


@pytest.mark.parametrize(
    ("texts", "chain"),
    [
        ((_MIDDLE,), ("middle",)),
        ((_ROOT, _LEAF), ("leaf",)),
        ((_ROOT, _ROOT.replace("private", "public"), _MIDDLE), ("middle",)),
        ((_ROOT, _MIDDLE, _MIDDLE, _LEAF), ("leaf",)),
        ((_ROOT, _MIDDLE.replace("(root)", "(root:middle)"), _LEAF), ("leaf",)),
    ],
    ids=["no-module", "no-parent", "two-modules", "two-parents", "its-own-parent"],
)
def test_an_unseen_ancestor_may_give_any_name(
    texts: tuple[str, ...], chain: tuple[str, ...]
) -> None:
    program, scopes = _scopes(*texts)
    if texts.count(_ROOT) == 1 and len(texts) > 1 and "public" in texts[1]:
        program.module = lambda name: None  # type: ignore[method-assign]
    scope = scopes.of(program.at(*chain))
    assert scope.lacks_host
    assert scope.resolve("hidden") is Absence.UNKNOWN
    assert procedure_named(Ref("lost", "lost"), scope) is None
    assert definitions_visible(scope)


@pytest.mark.parametrize(
    ("chain", "name", "body"),
    [
        (("root", "plain"), "reset", ("middle", "reset")),
        (("leaf", "smooth_all"), "reset", ("middle", "reset")),
        (("leaf", "smooth_all"), "own", ("middle", "own")),
        (("middle", "smooth_one"), "smooth_all", ("leaf", "smooth_all")),
        (("other", "user"), "reset", None),
        (("root", "plain"), "own", None),
        (("root", "plain"), "twice", None),
        (("root", "plain"), "lost", None),
        (("other", "user"), "put", ("middle", "put")),
    ],
)
def test_the_body_of_a_procedure(
    chain: tuple[str, ...], name: str, body: tuple[str, ...] | None
) -> None:
    """It stands in one submodule, and no external procedure of its name is meant."""
    program, scopes = _scopes()
    found = procedure_named(Ref(name, name), scopes.of(program.at(*chain)))
    assert (None if found is None else tuple(u.name for u in found.chain)) == body


def test_a_generic_name_leads_to_a_body() -> None:
    for chain in (("other", "user"), ("middle", "smooth_one")):
        scope = _scope(*chain)
        name = "y" if chain[0] == "other" else "field"
        call = Call(Ref("smooth", "smooth"), (Ref(name, name),))
        found = specific_of(call, "smooth", scope)
        assert found is not None
        assert tuple(unit.name for unit in found.chain) == ("leaf", "smooth_all")


def test_what_is_the_body_of_an_interface() -> None:
    program, scopes = _scopes()
    bodies = {
        one.unit.name: is_separate_body(scopes.of(one))
        for one in program.all
        if len(one.chain) == 2 and one.chain[0].kind == "submodule"
    }
    assert bodies == {
        "smooth_one": True,
        "reset": True,
        "own": False,
        "twice": False,
        "smooth_all": True,
        "put": True,
    }
    assert separate_body("own", scopes.of(program.at("root"))) is None


_SHORT = """
module m
  integer, parameter :: wp = kind(1d0)
  integer :: n
  interface
    module subroutine put(x, k, n)
      {}
    end subroutine
  end interface
end module
submodule (m) s
contains
  module procedure put
    integer :: own
    own = k
    x(1) = n
  end procedure
end submodule
"""


def test_an_interface_body_declares_the_dummies_of_a_module_procedure() -> None:
    body = "import\n implicit none\n real(wp), intent(inout) :: x(:)\n integer, value :: k, n"
    program, scopes = _scopes(_SHORT.format(body))
    scope = scopes.of(program.at("s", "put"))
    symbols = {name: scope.lookup(name) for name in ("x", "k", "n", "own", "wp")}
    origins = {name: symbol.origin for name, symbol in symbols.items() if symbol is not None}
    assert origins == {
        "x": Origin.DUMMY,
        "k": Origin.DUMMY,
        "n": Origin.DUMMY,
        "own": Origin.LOCAL,
        "wp": Origin.PARAMETER,
    }
    assert symbols["x"] is not None
    assert element_bytes(symbols["x"], scope) == 8


@pytest.mark.parametrize(
    "body",
    [
        "integer, parameter :: m = 3\n real :: x(m)\n integer :: k, n",
        "use sizes\n real :: x(m)\n integer :: k, n",
        "implicit real(8) (k)\n real :: x(3)\n integer :: n",
    ],
)
def test_an_interface_body_with_names_of_its_own_is_not_followed(body: str) -> None:
    program, scopes = _scopes(_SHORT.format(body))
    scope = scopes.of(program.at("s", "put"))
    assert scope.resolve("k") is Absence.UNKNOWN
    assert scope.resolve("n") is Absence.UNKNOWN


@pytest.mark.parametrize(
    ("place", "hiding"),
    [
        ("contains\n  module procedure put", "  integer, parameter :: wp = 4\n"),
        ("contains\n  module procedure put", "  use sizes\n"),
        ("contains\n  module procedure put", "  use sizes, only: wp\n"),
        ("    own = k", "    integer, parameter :: wp = 4\n"),
        ("end submodule", "  integer function wp()\n    wp = 4\n  end function\n"),
    ],
    ids=["submodule", "USE", "ONLY", "procedure", "function"],
)
def test_names_that_the_interface_body_has_from_elsewhere_are_not_followed(
    place: str, hiding: str
) -> None:
    """The body means the name of the module, where its procedure sees another one."""
    body = "import\n real(wp), intent(inout) :: x(:)\n integer, value :: k, n"
    text = _SHORT.format(body).replace(place, f"{hiding}{place}")
    assert text != _SHORT.format(body)
    program, scopes = _scopes(text)
    assert scopes.of(program.at("s", "put")).resolve("x") is Absence.UNKNOWN


def test_without_an_interface_the_dummies_are_not_known() -> None:
    text = _SHORT.format("real :: x(:)").replace("subroutine put(", "subroutine get(")
    program, scopes = _scopes(text)
    assert scopes.of(program.at("s", "put")).resolve("k") is Absence.UNKNOWN


_BODIES = """
module steps
  implicit none
  interface
    module subroutine grow(x)
      real, allocatable, intent(inout) :: x(:)
    end subroutine
    module subroutine fill(x)
      real, intent(inout) :: x(:)
    end subroutine
    module subroutine given(x) bind(c)
      real, intent(inout) :: x
    end subroutine
    module function pair(x) result(both)
      real, intent(in) :: x
      real :: both(2)
    end function
    module function one(x)
      real, intent(in) :: x
      real :: one
    end function
  end interface
end module
submodule (steps) inside
contains
  module procedure grow
    allocate (x(3))
  end procedure
  module procedure fill
    x = 1
  end procedure
  module procedure given
    x = 1
  end procedure
  module procedure pair
    both = x
  end procedure
  module procedure one
    one = x/2
  end procedure
end submodule
program main
  use steps
  real, allocatable :: a(:)
  real :: y
  call fill(a)
end program
"""


def test_what_an_interface_says_of_a_module_procedure() -> None:
    """Its attributes, its dummies and its result count for calls, wherever they are declared."""
    program, scopes = _scopes(_BODIES)
    main = scopes.of(program.at("main"))
    assert may_allocate(Ref("grow", "grow"), main)
    assert not may_allocate(Ref("fill", "fill"), main)
    assert gives_array(Ref("pair", "pair", (Ref("y", "y"),)), main)
    assert not gives_array(Ref("one", "one", (Ref("y", "y"),)), main)
    sites = CallSites(scopes)
    inside = [scopes.of(program.at("inside", name)) for name in ("given", "fill")]
    found = [sites.callers(sites.context(scope)) for scope in inside]
    assert found[0] == "given may be called from C"
    assert isinstance(found[1], tuple)
    assert [tuple(site.args) for site in found[1]] == [("x",)]
