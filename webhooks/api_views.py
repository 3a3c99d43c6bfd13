"""API of webhooks: made, edited, steered, tried, and what became of their deliveries."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.api_views.agents import whole
from teams import endpoints, lists, receipts
from teams.access import Access
from teams.api import known_parameters, page_of, valid
from webhooks import actions, queries, serializers, signing
from webhooks.actions import MANAGE
from webhooks.models import Delivery, DeliveryState, Webhook

EXAMPLE = {"name": "Release pipeline", "url": "https://hooks.example.org/evenhand", "events": ["group.ended"]}


def _webhook(access: Access, webhook: UUID) -> Webhook:
    found: Webhook = access.find(queries.webhooks_of(access, archived=None), pk=webhook)
    return found


def _shown(row: Webhook) -> dict[str, Any]:
    return dict(serializers.WebhookRow(row).data)


def _with_secret(row: Webhook, *, fresh: bool) -> dict[str, Any]:
    return {**_shown(row), "secret": signing.secret_of(row.pk, row.secret_revision) if fresh else None}


class Webhooks(endpoints.TeamView):
    """The team's webhooks that are not archived, by name."""

    needed = {"GET": MANAGE, "POST": MANAGE}

    @extend_schema(
        operation_id="webhooks", parameters=endpoints.PAGING, responses=endpoints.listed(serializers.WebhookRow)
    )
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size")
        return page_of(request, queries.webhooks_of(self.access), _shown)

    @extend_schema(
        operation_id="create_webhook",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewWebhook,
        responses=endpoints.created(serializers.FreshWebhook),
        examples=[OpenApiExample("A webhook", EXAMPLE, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        """Tells the address what ends from now on. The secret is in this answer and never again."""
        known_parameters(request)
        access, key = self.access, endpoints.request_key(request)
        given = valid(serializers.NewWebhook, request)
        row, made = receipts.once(
            access, "webhook.create", key, given, Webhook, lambda: actions.create_webhook(access=access, **given)
        )
        kept = _webhook(access, row.pk)
        return endpoints.with_etag(_with_secret(kept, fresh=made), kept.revision, status=201 if made else 200)


class WebhookDetail(endpoints.TeamView):
    """One webhook."""

    needed = {"GET": MANAGE, "PATCH": MANAGE}

    @extend_schema(operation_id="webhook", responses=endpoints.one(serializers.WebhookRow))
    def get(self, request: Request, webhook: UUID) -> Response:
        known_parameters(request)
        found = _webhook(self.access, webhook)
        return endpoints.with_etag(_shown(found), found.revision)

    @extend_schema(
        operation_id="edit_webhook",
        parameters=[endpoints.IF_MATCH],
        request=serializers.WebhookEdit,
        responses={200: serializers.WebhookRow, **endpoints.WRITE_ERRORS},
        examples=[OpenApiExample("Other events", {"events": ["experiment.ended"]}, request_only=True)],
    )
    def patch(self, request: Request, webhook: UUID) -> Response:
        """Another name, address or choice of events."""
        known_parameters(request)
        access, found = self.access, _webhook(self.access, webhook)
        seen = whole(endpoints.expected(request))
        given = valid(serializers.WebhookEdit, request)
        actions.edit_webhook(access=access, webhook=found, revision=seen, **given)
        kept = _webhook(access, webhook)
        return endpoints.with_etag(_shown(kept), kept.revision)


class WebhookSteps(endpoints.TeamView):
    """Enables, disables, rotates the secret of, archives and restores a webhook."""

    needed = {"POST": MANAGE}

    @extend_schema(
        operation_id="steer_webhook",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewWebhookStep,
        responses=endpoints.created(serializers.FreshWebhook),
        examples=[OpenApiExample("Another secret", {"step": "rotate"}, request_only=True)],
    )
    def post(self, request: Request, webhook: UUID) -> Response:
        """Take one step. After `rotate` the new secret is in this answer and never again."""
        known_parameters(request)
        access, found = self.access, _webhook(self.access, webhook)
        key, given = endpoints.request_key(request), valid(serializers.NewWebhookStep, request)
        step = given["step"]
        _, made = receipts.once(
            access,
            "webhook.steer",
            key,
            {"webhook": str(found.pk), **given},
            Webhook,
            lambda: actions.STEPS[step](access=access, webhook=found),
        )
        kept = _webhook(access, found.pk)
        return Response(_with_secret(kept, fresh=made and step == "rotate"), status=201 if made else 200)


class WebhookPings(endpoints.TeamView):
    """Tries a webhook."""

    needed = {"POST": MANAGE}

    @extend_schema(
        operation_id="ping_webhook",
        parameters=[endpoints.REQUEST_KEY],
        request=None,
        responses=endpoints.created(serializers.DeliveryRow),
    )
    def post(self, request: Request, webhook: UUID) -> Response:
        """Sends the event `ping`, once; its delivery says what came of it."""
        known_parameters(request)
        access, found = self.access, _webhook(self.access, webhook)
        key = endpoints.request_key(request)
        row, made = receipts.once(
            access,
            "webhook.ping",
            key,
            {"webhook": str(found.pk)},
            Delivery,
            lambda: actions.ping(access=access, webhook=found),
        )
        row.refresh_from_db()
        return Response(serializers.DeliveryRow(row).data, status=201 if made else 200)


class Deliveries(endpoints.TeamView):
    """What a webhook was told, newest first, for 90 days."""

    needed = {"GET": MANAGE}

    @extend_schema(
        operation_id="webhook_deliveries",
        parameters=[*endpoints.PAGING, OpenApiParameter("state", str, enum=DeliveryState.values)],
        responses=endpoints.listed(serializers.DeliveryRow),
    )
    def get(self, request: Request, webhook: UUID) -> Response:
        known_parameters(request, "page", "page_size", "state")
        found = _webhook(self.access, webhook)
        state = lists.chosen(request._request, "state", DeliveryState.values)
        rows = queries.deliveries_of(found, state)
        return page_of(request, rows, lambda row: serializers.DeliveryRow(row).data)


class DeliveryAttempts(endpoints.TeamView):
    """Sends a delivery again."""

    needed = {"POST": MANAGE}

    @extend_schema(
        operation_id="send_delivery_again",
        parameters=[endpoints.REQUEST_KEY],
        request=None,
        responses=endpoints.created(serializers.DeliveryRow),
    )
    def post(self, request: Request, webhook: UUID, delivery: UUID) -> Response:
        """One more attempt at a delivery that has ended, with the same id and body."""
        known_parameters(request)
        access, found = self.access, _webhook(self.access, webhook)
        told: Delivery = access.find(queries.deliveries_of(found), team="webhook__team", pk=delivery)
        row, made = receipts.once(
            access,
            "webhook.send_again",
            endpoints.request_key(request),
            {"delivery": str(told.pk)},
            Delivery,
            lambda: actions.send_again(access=access, webhook=found, delivery=told),
        )
        row.refresh_from_db()
        return Response(serializers.DeliveryRow(row).data, status=201 if made else 200)
