"""Loads and plays the members that xlarun saves, and runs its strategies and environments for objectives and agents in
Python. See docs/reference/member-file.md of xlarun for the files."""
from .board_member import BoardMember
from .member import Member, load
from .networks import networks
from .program import Error
from .sparse import SparseMember, read_idx

__all__ = ["BoardMember", "Error", "Member", "SparseMember", "Strategy", "load", "make_vec", "networks", "read_idx"]


def __getattr__(name):
    # What needs the program or Gymnasium is imported when it is used.
    if name == "Strategy":
        from .strategy import Strategy
        return Strategy
    if name == "make_vec":
        from .vector import make_vec
        return make_vec
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
