"""Values of which a run makes millions, of hundreds of classes: data classes that are frozen for
the type checker only, and whose methods are made when they are needed.

The ``__init__`` of ``dataclass(frozen=True)`` stores each field through ``object.__setattr__``,
which takes three times as long as an assignment.  Python compiles the methods of each data class
from a text; for all classes of this package that takes longer than most runs on a small file, which
need few of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, make_dataclass
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")

_MADE = ("__init__", "__repr__", "__eq__", "__hash__")
"""The methods of a data class that are compiled."""
_ANYTHING: Any = object


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """A data class with slots that is equal, and hashed, by its fields.

    The type checker refuses an assignment to a field; at run time nothing does.
    """
    own = [name for name in _MADE if name not in cls.__dict__]
    made = dataclass(slots=True, init=False, repr=False, eq=False)(cls)
    for name in own:
        setattr(made, name, _made_later(made, name, own))
    return made


def _made_later(cls: type, name: str, own: list[str]) -> Callable[..., object]:
    """A method that replaces all of those that are to be made by the compiled ones, and itself by
    one of these."""

    def method(self: object, *args: object, **keywords: object) -> object:
        made = _compiled(cls)
        for each in own:
            setattr(cls, each, getattr(made, each))
        found: object = getattr(cls, name)(self, *args, **keywords)
        return found

    method.__name__, method.__qualname__ = name, f"{cls.__qualname__}.{name}"
    return method


def _compiled(cls: type) -> type:
    """A data class with the fields of another one, whose methods do for that one, too."""
    own = [
        (
            one.name,
            _ANYTHING,
            field(
                default=one.default,
                default_factory=one.default_factory,
                init=one.init,
                repr=one.repr,
                hash=one.hash,
                compare=one.compare,
                kw_only=one.kw_only,
            ),
        )
        for one in fields(cls)
    ]
    behind = getattr(cls, "__post_init__", None)
    namespace = {} if behind is None else {"__post_init__": behind}
    return make_dataclass(cls.__name__, own, unsafe_hash=True, slots=True, namespace=namespace)
