"""Model routes: operators write revisions, and say which one counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import Max

from agents.definitions import digest
from agents.models import AuthMode, ModelRoute, ModelRouteRevision, Provider, ProviderKind
from agents.outbound import checked_url
from teams import audit
from teams.given import json_object, line, readable
from teams.models import User
from teams.refusals import Refusal

SECRET: Final = re.compile(r"env:EVENHAND_KEY_[A-Z0-9_]{1,80}|file:/run/secrets/[\w.-]{1,200}")
"""Where secrets of models may stand; nothing else of the server's is ever read for a call."""
MONEY: Final = ("input_micros", "cached_input_micros", "output_micros", "call_fee_micros")
MOST_MICROS: Final = 10**15
FLAGS: Final = ("tools", "structured_output", "images", "streaming")
SIZES: Final = ("context_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class RouteFields:
    """What a revision of a route says. Prices in millionths of the currency per million tokens; None is unknown."""

    provider: Provider
    model_id: str
    profile: str = ""
    base_url: str = ""
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    auth_mode: str = AuthMode.API_KEY
    secret_ref: str = ""
    currency: str = "USD"
    input_micros: int | None = None
    cached_input_micros: int | None = None
    output_micros: int | None = None
    call_fee_micros: int | None = None


def checked_route(fields: RouteFields) -> RouteFields:
    """The fields tidied, or a refusal with the place of the fault."""
    model_id = line(fields.model_id, "model_id", 200)
    if not model_id or not readable(model_id) or not readable(fields.profile):
        raise Refusal("invalid_field", "Name the model as the provider does.", place="model_id")
    base_url = fields.base_url.strip()
    kind = fields.provider.kind
    if base_url:
        base_url = checked_url(base_url, place="base_url", loopback=settings.EMBEDDED)
    if kind == ProviderKind.OPENAI and not base_url:
        raise Refusal("invalid_field", "An OpenAI-compatible server has an address.", place="base_url")
    if kind == ProviderKind.FIXTURE and (base_url or fields.secret_ref):
        raise Refusal("invalid_field", "The fixture runs here: no address, no secret.", place="base_url")
    secret = checked_secret(fields.secret_ref)
    if fields.auth_mode == AuthMode.API_KEY and not secret and kind != ProviderKind.FIXTURE:
        raise Refusal("invalid_field", "Calls that are paid by an API key need one.", place="secret_ref")
    checked_currency(fields.currency, "currency")
    for name in MONEY:
        checked_price(getattr(fields, name), name)
    _capabilities(fields.capabilities)
    return RouteFields(
        provider=fields.provider,
        model_id=model_id,
        profile=line(fields.profile, "profile", 80),
        base_url=base_url,
        capabilities=dict(fields.capabilities),
        auth_mode=AuthMode(fields.auth_mode),
        secret_ref=secret,
        currency=fields.currency,
        **{name: getattr(fields, name) for name in MONEY},
    )


def checked_secret(text: str) -> str:
    """A reference to a secret, tidied, or nothing."""
    secret = text.strip()
    if secret and (not SECRET.fullmatch(secret) or ".." in secret):
        raise Refusal(
            "invalid_field",
            "Say where the secret stands, env:EVENHAND_KEY_NAME or file:/run/secrets/name; never the secret itself.",
            place="secret_ref",
        )
    return secret


def checked_currency(text: str, place: str) -> None:
    if not re.fullmatch("[A-Z]{3}", text):
        raise Refusal("invalid_field", "A currency has three letters, such as USD.", place=place)


def checked_price(value: int | None, place: str) -> None:
    if value is not None and not 0 <= value <= MOST_MICROS:
        raise Refusal("invalid_field", "A price is zero or more; leave it empty where unknown.", place=place)


def _capabilities(given: Mapping[str, Any]) -> None:
    json_object(given, "capabilities", 10_000)
    for name, value in given.items():
        if name in FLAGS and isinstance(value, bool):
            continue
        if name in SIZES and isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 10**9:
            continue
        raise Refusal(
            "invalid_field",
            f"{', '.join(FLAGS)} are true or false, {' and '.join(SIZES)} whole numbers.",
            place="capabilities",
        )


@transaction.atomic
def add_route_revision(*, route: ModelRoute, fields: RouteFields, by: User | None) -> ModelRouteRevision:
    """Another revision of a route. It counts once it is activated."""
    said = checked_route(fields)
    kept = ModelRoute.objects.select_for_update(no_key=True).get(pk=route.pk)
    last = ModelRouteRevision.objects.filter(route=kept).aggregate(last=Max("number"))["last"] or 0
    revision: ModelRouteRevision = ModelRouteRevision.objects.create(
        route=kept,
        number=last + 1,
        made_by=by,
        capability_sha256=digest("capabilities", dict(said.capabilities)),
        sha256=digest(
            "route",
            {
                "provider": said.provider.key,
                "protocol": said.provider.kind,
                "model_id": said.model_id,
                "profile": said.profile,
                "base_url": said.base_url,
                "capabilities": dict(said.capabilities),
                "auth_mode": said.auth_mode,
            },
        ),
        **{name: getattr(said, name) for name in RouteFields.__slots__},
    )
    _audit("route.revision_made", revision, by)
    return revision


@transaction.atomic
def activate_route(*, revision: ModelRouteRevision, by: User | None) -> ModelRoute:
    """From now on new snapshots use this revision. Those that exist keep theirs."""
    route = ModelRoute.objects.select_for_update(no_key=True).get(pk=revision.route_id)
    if route.active_id != revision.pk or route.archived_at is not None:
        route.active, route.archived_at = revision, None
        route.save(update_fields=["active", "archived_at"])
        _audit("route.activated", revision, by)
    return route


@transaction.atomic
def deactivate_route(*, route: ModelRoute, by: User | None) -> ModelRoute:
    """No new snapshot takes the route, and nothing new runs over it."""
    kept = ModelRoute.objects.select_for_update(no_key=True).get(pk=route.pk)
    if kept.active is not None:
        before, kept.active = kept.active, None
        kept.save(update_fields=["active"])
        _audit("route.deactivated", before, by)
    return kept


def _audit(action: str, revision: ModelRouteRevision, by: User | None) -> None:
    audit.record(
        action,
        team=None,
        by=by,
        object_type="modelroute",
        object_id=revision.route_id,
        revision=revision.number,
        sha256=revision.sha256,
    )
