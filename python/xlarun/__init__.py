"""Loads and plays the members that xlarun saves. See docs/reference/member-file.md of xlarun for the files."""
from .board_member import BoardMember
from .member import Member, load
from .networks import networks
from .sparse import SparseMember, read_idx
from .study import Study, report

__all__ = ["BoardMember", "Member", "SparseMember", "load", "networks", "Study", "read_idx", "report"]
