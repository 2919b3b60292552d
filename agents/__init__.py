"""Agents that play FieldOps from a checkout. They use the package's public API; nothing in the package imports them."""
