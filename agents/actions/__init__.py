"""What changes agents: model routes, drafts, snapshots and deployments, connectors, subjects."""

from agents.actions.agents import archive_agent, create_agent, rename_agent, restore_agent
from agents.actions.connectors import (
    archive_connector,
    create_connector,
    edit_connector,
    restore_connector,
)
from agents.actions.drafts import draft_from_snapshot, save_draft
from agents.actions.routes import RouteFields, activate_route, add_route_revision, checked_route, deactivate_route
from agents.actions.snapshots import deploy_snapshot, make_variant, publish_draft
from agents.actions.subjects import fingerprint, imported_subject

__all__ = [
    "RouteFields",
    "activate_route",
    "add_route_revision",
    "archive_agent",
    "archive_connector",
    "checked_route",
    "create_agent",
    "create_connector",
    "deactivate_route",
    "deploy_snapshot",
    "draft_from_snapshot",
    "edit_connector",
    "fingerprint",
    "imported_subject",
    "make_variant",
    "publish_draft",
    "rename_agent",
    "restore_agent",
    "restore_connector",
    "save_draft",
]
