"""What is evaluated: model routes, agents with their snapshots, and subjects."""

from agents.models.agents import Agent, AgentDeployment, AgentDraft, Snapshot, SnapshotDefinition
from agents.models.assets import Asset, AssetApproval, AssetContent, AssetKind, AssetVersion
from agents.models.configurations import (
    Configuration,
    ConfigurationContent,
    ConfigurationRevision,
    ImportedAgent,
)
from agents.models.connectors import Connector, ConnectorReader
from agents.models.harnesses import Harness, HarnessRevision
from agents.models.releases import (
    TRANSITIONS,
    Release,
    ReleaseBinding,
    ReleaseState,
    ReleaseTransition,
)
from agents.models.routes import AuthMode, ModelRoute, ModelRouteRevision, Provider, ProviderKind
from agents.models.subjects import Subject, SubjectDefinition, SubjectKind

__all__ = [
    "TRANSITIONS",
    "Agent",
    "AgentDeployment",
    "AgentDraft",
    "Asset",
    "AssetApproval",
    "AssetContent",
    "AssetKind",
    "AssetVersion",
    "AuthMode",
    "Configuration",
    "ConfigurationContent",
    "ConfigurationRevision",
    "Connector",
    "ConnectorReader",
    "Harness",
    "HarnessRevision",
    "ImportedAgent",
    "ModelRoute",
    "ModelRouteRevision",
    "Provider",
    "ProviderKind",
    "Release",
    "ReleaseBinding",
    "ReleaseState",
    "ReleaseTransition",
    "Snapshot",
    "SnapshotDefinition",
    "Subject",
    "SubjectDefinition",
    "SubjectKind",
]
