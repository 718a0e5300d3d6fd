"""Loads and steps the members that xlarun saves. See docs/how-to/members.md of xlarun for the files."""
from .member import Member, load

__all__ = ["Member", "load"]
