"""Evaluation: running agents against frozen seeds, keeping what happened, and saying what failed and why.

from fieldops_gym import load_tasks
from fieldops_gym.evaluation import by_card, load_agent, run, settings_for

pack, agent = load_tasks(), load_agent("agents.reference:Reference")
report = run(settings_for("FieldOps-Effect-v0", agent.name, pack, seeds=10), pack, agent)
print(by_card(report.rows))
"""

from __future__ import annotations

from fieldops_gym.evaluation.access import Access, AccessLogError, check_access_log, read_accesses, record_access
from fieldops_gym.evaluation.agents import Agent, AgentLoadError, AgentSource, load_agent
from fieldops_gym.evaluation.evidence import Breach, Cited, breaches
from fieldops_gym.evaluation.results import ResultsError, read_rows, trace_name
from fieldops_gym.evaluation.retire import Retired, RetireError, retire
from fieldops_gym.evaluation.runner import TrialRun, agent_seed, plan_trials, run, run_trial, settings_for
from fieldops_gym.evaluation.summary import Failure, Report, Tally, by_card, by_segment, tally
from fieldops_gym.evaluation.traces import Trace, TraceError, read_trace
from fieldops_gym.evaluation.trials import Digests, RunSettings, TrialPlan, TrialRow, TrialStatus, trial_id
from fieldops_gym.evaluation.worlds import GENERATOR_VERSION, Manifest, Start, distribution, manifest

__all__ = [
    "GENERATOR_VERSION",
    "Access",
    "AccessLogError",
    "Agent",
    "AgentLoadError",
    "AgentSource",
    "Breach",
    "Cited",
    "Digests",
    "Failure",
    "Manifest",
    "Report",
    "ResultsError",
    "RetireError",
    "Retired",
    "RunSettings",
    "Start",
    "Tally",
    "Trace",
    "TraceError",
    "TrialPlan",
    "TrialRow",
    "TrialRun",
    "TrialStatus",
    "agent_seed",
    "breaches",
    "by_card",
    "by_segment",
    "check_access_log",
    "distribution",
    "load_agent",
    "manifest",
    "plan_trials",
    "read_accesses",
    "read_rows",
    "read_trace",
    "record_access",
    "retire",
    "run",
    "run_trial",
    "settings_for",
    "tally",
    "trace_name",
    "trial_id",
]
