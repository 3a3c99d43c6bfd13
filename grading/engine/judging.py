"""One judgment or enrichment that takes an outside call: asked, read, settled against its claim."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from agents.models import ModelRoute, ModelRouteRevision
from analysis.observations import Outcome
from grading import judges, validators
from grading.engine import claiming
from grading.engine.evidence import evidence_of, scale_of
from grading.engine.work import JUDGMENTS
from grading.judging import Judged, grader_error
from grading.models import (
    Enrichment,
    EnrichmentOutput,
    GraderConfig,
    GraderKind,
    GraderVersion,
    GradingPass,
    Judgment,
    Reasoning,
)
from grading.queries import validator_hosts
from runs.engine import ledger
from runs.engine.claims import Claim, Lost, give_back, renewed, settle
from runs.engine.ledger import Account, by_fee, by_route
from runs.engine.subjects import target_of
from runs.executors import executor_for
from runs.executors.contract import Ask, CallFailed, Message, Post, Reply
from teams.bulk import database_now

log = logging.getLogger(__name__)

AGAIN: Final = frozenset({"output_invalid"})
"""A judge that answered in another form is asked once more, as an attempt of its own."""


class NotAllowed(Exception):
    """The pass may not go on just now; the code says why."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def route_is_active(route: ModelRouteRevision) -> bool:
    """Whether operators let calls go over the route; the revision that is pinned may be an older one."""
    return ModelRoute.objects.filter(pk=route.route_id, archived_at=None).exclude(active=None).exists()


def work_on(claim: Claim) -> None:
    """Judge what was claimed, or give it back where nothing left and it may not go on."""
    task = Task(claim)
    with renewed(claim):
        try:
            task.run()
        except Lost:
            log.warning("%s %s is no longer ours; what came back late is kept", claim.work.owner, claim.id)
        except NotAllowed as reason:
            claiming.pause(task.grading_pass, reason.code)
            task.give_back()
        except CallFailed as failure:
            task.end(grader_error(""), failure.code)


class Task:
    """A claimed judgment or enrichment on its way."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.row: Judgment | Enrichment
        if claim.work is JUDGMENTS:
            judgment = Judgment.objects.select_related(
                "grading_pass__experiment",
                "execution__revision",
                "version__grader__definition",
                "version__route_revision__provider",
            ).get(pk=claim.id)
            self.row, self.grading_pass = judgment, judgment.grading_pass
        else:
            self.row = Enrichment.objects.select_related("execution__revision", "version__grader__definition").get(
                pk=claim.id
            )
            self.grading_pass = _asked_by(self.row)
        self.version: GraderVersion = self.row.version

    def run(self) -> None:
        self._may_go_on()
        content = GraderConfig.objects.filter(version=self.version).first()
        if content is None or content.body is None:
            self.end(grader_error("The configuration of the grader was taken away."), "grader_unavailable")
        elif self.version.grader.kind == GraderKind.JUDGE:
            self._ask_judge(content.body)
        else:
            self._ask_validator(content.body)

    def _may_go_on(self) -> None:
        """Asked before protected content is read, and before each call."""
        if code := claiming.hindrance(self.grading_pass):
            raise NotAllowed(code)
        route = self.version.route_revision
        if route is not None and not route_is_active(route):
            raise NotAllowed("route_inactive")

    def _ask_judge(self, config: dict[str, Any]) -> None:
        evidence, scale = evidence_of(self.row.execution, self.grading_pass), scale_of(self.version.grader.definition)
        if (lacking := judges.lacking(config, evidence)) is not None:
            self.end(lacking)
            return
        route = self.version.route_revision
        assert route is not None
        system, user = judges.prompt_of(config, evidence)
        ask = Ask(
            target=target_of(route),
            instructions=system["content"],
            messages=(Message("user", user["content"]),),
            schema=judges.output_schema(config, scale),
            repetition=self.row.execution.repetition,
        )
        account = Account(
            self.claim, executor_for(route.provider.kind), self._may_go_on, by_route(route), route, again_on=AGAIN
        )
        self._close(account, ask, lambda reply: judges.read(config, scale, reply.structured))

    def _ask_validator(self, config: dict[str, Any]) -> None:
        evidence, scale = evidence_of(self.row.execution, None), scale_of(self.version.grader.definition)
        if (lacking := validators.lacking(config, evidence)) is not None:
            self.end(lacking)
            return
        request = validators.request_of(config, evidence)

        def check() -> None:
            self._may_go_on()
            if validators.host_of(request.url) not in validator_hosts():
                raise CallFailed("address_forbidden")

        account = Account(
            self.claim, executor_for("post"), check, by_fee(self.version.fee_micros, self.version.fee_currency)
        )
        post = Post(request.url, request.body)
        self._close(account, post, lambda reply: validators.read(config, scale, reply.text or ""))

    def _close(self, account: Account, ask: Ask | Post, read: Callable[[Reply], Judged]) -> None:
        reference, reply = account.reply(ask, 0)
        judged = read(reply)
        account.close(reference, reply, keep=lambda: self._keep(judged), end=lambda: self._settle(judged))

    def _keep(self, judged: Judged) -> None:
        if isinstance(self.row, Enrichment):
            if judged.enrichment is not None:
                EnrichmentOutput.objects.create(enrichment=self.row, body=judged.enrichment)
        elif judged.reason:
            Reasoning.objects.create(judgment=self.row, **words_of(judged))

    def _settle(self, judged: Judged, code: str = "") -> None:
        totals = ledger.totals(ledger.calls_of(self.claim), self.claim.work.totals)
        told: dict[str, Any] = {"error_code": code, "settled_at": database_now(), **totals}
        if isinstance(self.row, Judgment):
            told |= {"outcome": judged.outcome.value, "value": judged.value, "category": judged.category}
        else:
            found = judged.enrichment is not None
            told["outcome"] = (Outcome.SCORED if found else Outcome.GRADER_ERROR).value
        settle(self.claim, **told)

    def end(self, judged: Judged, code: str = "") -> None:
        """An end without an answer; attempts, if there were any, are settled already."""
        try:
            self._settle(judged, code)
        except Lost:
            log.warning("%s %s is no longer ours", self.claim.work.owner, self.claim.id)
        else:
            self._keep(judged)

    def give_back(self) -> None:
        try:
            give_back(self.claim)
        except Lost:
            log.warning("%s %s is no longer ours", self.claim.work.owner, self.claim.id)


def _asked_by(row: Enrichment) -> GradingPass:
    """The pass for whose sake a validator is asked: the first that waits for it."""
    found: GradingPass = (
        GradingPass.objects.select_related("experiment")
        .filter(experiment=row.execution.experiment_id, enrichment=row.version_id)
        .order_by("number")[0]
    )
    return found


def words_of(judged: Judged) -> dict[str, str | None]:
    """A judgment's reason, on the side where it belongs: why it judged so, or what went wrong."""
    wrong = judged.outcome is Outcome.GRADER_ERROR
    return {"text": None if wrong else judged.reason, "error": judged.reason if wrong else None}
