"""How the reference answers a question: find the edition in force, or say what is missing."""

from __future__ import annotations

from typing import Any

from fieldops_gym import ToolCall, View
from fieldops_gym.domains.field_service.notes import seat_note
from fieldops_gym.domains.field_service.rules import GIVE_UP_SECONDS

MARGIN = 60
"""Nothing that has fewer seconds left than this is relied on."""

ASKS = 3
"""How often a person is asked the same."""

ANSWERS = ("answered", "declined", "vague", "misheard")


class Answering:
    """The part of the reference that answers. It keeps nothing between calls."""

    def answer(self, view: View) -> ToolCall:
        """Find the edition in force for the machine's revision, read and cite it; say what is missing where it is not there."""
        machine, family = view.rows["equipment"][0], view.rows["family"][0]
        if machine["revision"] is None:
            return ToolCall.of("query_asset", equipment=machine.id)
        if "manual" not in seat_note(view).listed:
            return ToolCall.of("search_manuals", equipment=machine.id)
        in_force = [row for row in view.rows["manual"] if row["status"] == "current"]
        if not in_force:
            return ToolCall.of("finish", disposition="needs_information", subject=family.id)
        revision = machine["revision"] or self.told(view)
        if not revision:
            return self.ask_for_revision(view, machine.id)
        fitting = self.applicable(in_force, revision)
        unread = next((row for row in fitting if row["remedy"] is None), None)
        if unread is not None:
            return ToolCall.of("read_manual", manual=unread.id)
        if not fitting:
            return ToolCall.of("finish", disposition="needs_information", subject=family.id)
        return self.conclude(view, fitting)

    def applicable(self, in_force: list[Any], revision: int) -> list[Any]:
        """Return the editions in force that cover the revision."""
        return [row for row in in_force if row["rev_from"] <= revision <= row["rev_to"]]

    def told(self, view: View) -> int:
        """Return the revision that somebody stated whose word counts, 0 for none."""
        informer = self.informer(view)
        stated = [s["value"] for s in view.rows["statement"] if s["topic"] == "revision" and s["person"] == informer]
        return stated[-1] if stated else 0

    def informer(self, view: View) -> str:
        """Return whom the directory, as far as it was read, gives authority to inform; '' for nobody."""
        requester = view.rows["incident"][0]["requester"]
        tenant = next(row["tenant"] for row in view.rows["person"] if row.id == requester)
        may = (row.id for row in view.rows["person"] if row["tenant"] == tenant and "inform" in row["authority"])
        return next(may, "")

    def ask_for_revision(self, view: View, machine: str) -> ToolCall:
        """Ask whoever may inform, again when the answer was none; they may not know it either."""
        nothing = ToolCall.of("finish", disposition="needs_information", subject=machine)
        person = self.informer(view)
        if not person:
            return ToolCall.of("read_directory") if len(view.rows["person"]) <= 1 else nothing
        asked = seat_note(view).asked.count((person, "revision"))
        heard = [row["act"] for row in view.rows["message"] if row["sender"] == person and row["act"] in ANSWERS]
        if len(heard) >= asked and (not heard or heard[-1] in ("vague", "misheard")) and asked < ASKS:
            return ToolCall.of("ask", person=person, topic="revision")
        if self.late(view) or "declined" in heard:
            return nothing
        return self.wait(view, 3600)

    def conclude(self, view: View, fitting: list[Any]) -> ToolCall:
        """Cite what holds and answer with it; where editions conflict, go by policy, by the review desk, or escalate."""
        if len({row["remedy"] for row in fitting}) > 1:
            rule = next((row for row in view.rows["policy"] if row["operation"] == "sources"), None)
            if rule is None:
                return ToolCall.of("read_policy", operation="sources")
            decided = [row["value"] for row in view.rows["statement"] if row["topic"] == "edition"]
            ruled = [row for row in fitting if row["source"] == rule["value"] or row.id in decided]
            asked = "review" in [topic for _, topic in seat_note(view).asked]
            if not ruled and "request_review" in view.listed and not (asked and self.late(view)):
                return self.have_reviewed(view)
            fitting = ruled or fitting
        drafts = view.rows["draft"]
        cited = drafts[0]["citations"] if drafts else ()
        for row in fitting:
            if row.id not in cited:
                return ToolCall.of("draft", field="citation", ref=row.id)
        if len(fitting) == 1:
            return ToolCall.of("finish", disposition="answered", subject=fitting[0].id)
        return self.stop(view, "escalated", "escalated", view.rows["incident"][0].id)

    def have_reviewed(self, view: View) -> ToolCall:
        """Put it before the review desk, and wait for its decision."""
        if "review" not in [topic for _, topic in seat_note(view).asked]:
            return ToolCall.of("request_review", incident=view.rows["incident"][0].id)
        return self.wait(view, 3600)

    def wait(self, view: View, longest: int, spare: int = 0) -> ToolCall:
        """Wait as long as the menu lets it, but so that a minute is left, and `spare` seconds more."""
        left = view.limits.simulated_time - view.now - spare
        return ToolCall.of("wait", seconds=next((s for s in (3600, 900) if s <= longest and left > s + MARGIN), 60))

    def stop(self, view: View, kind: str, disposition: str, subject: str) -> ToolCall:
        """Tell the requester once, and that control is refused where it was asked for, then finish."""
        refusal, requester = self.refuse_control(view), view.rows["incident"][0]["requester"]
        if refusal is not None:
            return refusal
        if (requester, kind) not in seat_note(view).told:
            return ToolCall.of("notify", person=requester, kind=kind)
        return ToolCall.of("finish", disposition=disposition, subject=subject)

    def refuse_control(self, view: View) -> ToolCall | None:
        """Tell the requester that control is refused, where it was asked for and has not been said."""
        incident = view.rows["incident"][0]
        if "control" not in incident["asks"] or (incident["requester"], "refused") in seat_note(view).told:
            return None
        return ToolCall.of("notify", person=incident["requester"], kind="refused")

    def late(self, view: View) -> bool:
        """Whether so little time is left that an open request or dispatch may be given up."""
        return view.limits.simulated_time - view.now < GIVE_UP_SECONDS
