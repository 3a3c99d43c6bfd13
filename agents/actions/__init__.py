"""What changes agents: model routes, drafts, snapshots and deployments, connectors, subjects."""

from agents.actions.agents import archive_agent, create_agent, rename_agent, restore_agent
from agents.actions.assets import (
    add_asset_version,
    approve_asset_version,
    archive_asset,
    checked_part,
    create_asset,
    create_built_in_asset,
    rename_asset,
    restore_asset,
)
from agents.actions.configurations import (
    create_configuration,
    delete_built_in_configuration,
    delete_configuration,
    save_built_in_configuration,
    save_configuration,
)
from agents.actions.connectors import (
    Reach,
    archive_connector,
    checked_reach,
    create_connector,
    edit_connector,
    reach_connector,
    restore_connector,
)
from agents.actions.drafts import draft_from_snapshot, save_draft
from agents.actions.harnesses import HarnessFields, activate_harness, add_harness_revision, checked_harness
from agents.actions.releases import assembled, bind_release, create_release, move_release
from agents.actions.routes import RouteFields, activate_route, add_route_revision, checked_route, deactivate_route
from agents.actions.snapshots import deploy_snapshot, draft_to_run, make_variant, publish_draft, snapshot_draft
from agents.actions.subjects import fingerprint, imported_subject

__all__ = [
    "HarnessFields",
    "Reach",
    "RouteFields",
    "activate_harness",
    "activate_route",
    "add_asset_version",
    "add_harness_revision",
    "add_route_revision",
    "approve_asset_version",
    "archive_agent",
    "archive_asset",
    "archive_connector",
    "assembled",
    "bind_release",
    "checked_harness",
    "checked_part",
    "checked_reach",
    "checked_route",
    "create_agent",
    "create_asset",
    "create_built_in_asset",
    "create_configuration",
    "create_connector",
    "create_release",
    "deactivate_route",
    "delete_built_in_configuration",
    "delete_configuration",
    "deploy_snapshot",
    "draft_from_snapshot",
    "draft_to_run",
    "edit_connector",
    "fingerprint",
    "imported_subject",
    "make_variant",
    "move_release",
    "publish_draft",
    "reach_connector",
    "rename_agent",
    "rename_asset",
    "restore_agent",
    "restore_asset",
    "restore_connector",
    "save_built_in_configuration",
    "save_configuration",
    "save_draft",
    "snapshot_draft",
]
