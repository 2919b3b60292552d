"""Wrappers: what varies around an environment. Import them from here."""

from fieldops_gym.wrappers.call_menu import CallMenu
from fieldops_gym.wrappers.fault_injection import FaultInjection
from fieldops_gym.wrappers.json_calls import JsonCalls
from fieldops_gym.wrappers.shaped_reward import ShapedReward

__all__ = ["CallMenu", "FaultInjection", "JsonCalls", "ShapedReward"]
