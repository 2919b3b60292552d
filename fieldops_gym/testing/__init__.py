"""The conformance suite: what every family of environments must satisfy, for those of this package and for a user's own."""

from fieldops_gym.testing.checking import RULES, FamilyError, Problem, Rule, check_family

__all__ = ["RULES", "FamilyError", "Problem", "Rule", "check_family"]
