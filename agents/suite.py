"""What `fieldops audit` plays: the reference, the honest styles, and everything that must fail."""

from __future__ import annotations

from agents.alternatives import ALTERNATIVES, combined
from agents.reference import Reference
from agents.shortcuts import DEFECTIVE, IDLE

REFERENCE = Reference

SHORTCUTS = (*IDLE, *DEFECTIVE)

__all__ = ["ALTERNATIVES", "REFERENCE", "SHORTCUTS", "combined"]
