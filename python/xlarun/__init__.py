"""Loads and steps the members that xlarun saves. See docs/reference/member-file.md of xlarun for the files."""
from .member import Member, load

__all__ = ["Member", "load"]
