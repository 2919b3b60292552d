"""FieldOps Gym: stateful, policy-bound, fault-injected environments for tool-using agents.

Importing this package registers its environments: `gymnasium.make("FieldOps-Effect-v0")` works after it, and
`gymnasium.make("fieldops_gym:FieldOps-Effect-v0")` without it.
"""

from fieldops_gym.core.calls import Code, Status, ToolCall
from fieldops_gym.core.episode import Episode, Step, replay
from fieldops_gym.core.judging import Grade, Judged, Trial, Verdict
from fieldops_gym.core.overrides import merge
from fieldops_gym.core.passage import ToolResult
from fieldops_gym.core.scenario import Brief, Coordinates
from fieldops_gym.core.streams import Seeds, evaluation_seeds, training_seeds
from fieldops_gym.core.view import View
from fieldops_gym.domains import DOMAINS
from fieldops_gym.graders import grade
from fieldops_gym.packs import load_tasks
from fieldops_gym.registry import ENVIRONMENTS, register_envs

__version__ = "0.3.0"

register_envs()

__all__ = [
    "DOMAINS",
    "ENVIRONMENTS",
    "Brief",
    "Code",
    "Coordinates",
    "Episode",
    "Grade",
    "Judged",
    "Seeds",
    "Status",
    "Step",
    "ToolCall",
    "ToolResult",
    "Trial",
    "Verdict",
    "View",
    "evaluation_seeds",
    "grade",
    "load_tasks",
    "merge",
    "register_envs",
    "replay",
    "training_seeds",
]
