"""Runs xlarun from Python, asks its strategies, steps its environments, and plays the members that it saves
(docs/how-to/python.md)."""
from typing import TYPE_CHECKING, Any

from . import runs
from .board_member import BoardMember
from .card import card
from .jax_environment import from_jax
from .member import Member, load
from .networks import networks
from .program import Error
from .run import Run
from .runs import *
from .sparse import SparseMember, read_idx
from .study import Study, report
from .track import track

if TYPE_CHECKING:
    from . import sb3
    from .strategy import Strategy
    from .vector import make_vec

__all__ = ["BoardMember", "Error", "Member", "Run", "SparseMember", "Strategy", "Study", "card", "from_jax", "load",
           "make_vec", "networks", "read_idx", "report", "track"]
__all__ += runs.__all__  # type checkers read no other sum


def __getattr__(name: str) -> Any:
    # What needs a child process or Gymnasium is imported when it is used.
    if name == "Strategy":
        from .strategy import Strategy
        return Strategy
    if name == "make_vec":
        from .vector import make_vec
        return make_vec
    if name == "sb3":
        import importlib
        return importlib.import_module(".sb3", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
