"""Loads and plays the members that xlarun saves. See docs/reference/member-file.md of xlarun for the files."""
from .board_member import BoardMember
from .jax_environment import from_jax
from .member import Member, load
from .networks import networks
from .sparse import SparseMember, read_idx
from .study import Study, report

__all__ = ["BoardMember", "Member", "SparseMember", "from_jax", "load", "networks", "Study", "read_idx", "report"]
