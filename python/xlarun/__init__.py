"""Runs xlarun from Python, and loads and plays the members that it saves (docs/reference/member-file.md)."""
from .board_member import BoardMember
from .card import card
from .member import Member, load
from .networks import networks
from .program import Error
from .run import Run
from .runs import evolve, islands, ppo, pqn, qd, selfplay, sparse
from .sparse import SparseMember, read_idx
from .study import Study, report
from .track import track

__all__ = ["BoardMember", "Error", "Member", "Run", "SparseMember", "Study", "card", "evolve", "islands", "load",
           "networks", "ppo", "pqn", "qd", "read_idx", "report", "selfplay", "sparse", "track"]
