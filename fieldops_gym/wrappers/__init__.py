"""Wrappers: what varies around an environment. Import them from here."""

from fieldops_gym.wrappers.call_menu import CallMenu
from fieldops_gym.wrappers.json_calls import JsonCalls
from fieldops_gym.wrappers.layers import BudgetLimit, FaultInjection, UserTurns
from fieldops_gym.wrappers.shaped_reward import ShapedReward

__all__ = ["BudgetLimit", "CallMenu", "FaultInjection", "JsonCalls", "ShapedReward", "UserTurns"]
