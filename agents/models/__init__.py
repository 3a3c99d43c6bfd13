"""What is evaluated: model routes, agents with their snapshots, and subjects."""

from agents.models.agents import Agent, AgentDeployment, AgentDraft, Snapshot, SnapshotDefinition
from agents.models.connectors import Connector, ConnectorReader
from agents.models.routes import AuthMode, ModelRoute, ModelRouteRevision, Provider, ProviderKind
from agents.models.subjects import Subject, SubjectDefinition, SubjectKind

__all__ = [
    "Agent",
    "AgentDeployment",
    "AgentDraft",
    "AuthMode",
    "Connector",
    "ConnectorReader",
    "ModelRoute",
    "ModelRouteRevision",
    "Provider",
    "ProviderKind",
    "Snapshot",
    "SnapshotDefinition",
    "Subject",
    "SubjectDefinition",
    "SubjectKind",
]
