"""API addresses of agents, snapshots, releases, assets, model routes, connectors and subjects."""

from django.urls import path

from agents.api_views import agents, assets, configurations, connectors, releases, routes, snapshots, subjects

urlpatterns = [
    path("subjects", subjects.Subjects.as_view(), name="subjects"),
    path("subjects/<uuid:subject>", subjects.SubjectDetail.as_view(), name="subject"),
    path("agents", agents.Agents.as_view(), name="agents"),
    path("agents/<uuid:agent>", agents.AgentDetail.as_view(), name="agent"),
    path("agents/<uuid:agent>/draft", agents.AgentDraft.as_view(), name="agent_draft"),
    path("agents/<uuid:agent>/deployments", agents.Deployments.as_view(), name="deployments"),
    path("snapshots", snapshots.Snapshots.as_view(), name="snapshots"),
    path("snapshots/<uuid:snapshot>", snapshots.SnapshotDetail.as_view(), name="snapshot"),
    path("snapshots/<uuid:snapshot>/differences", snapshots.SnapshotDifferences.as_view(), name="snapshot_differences"),
    path("snapshots/<uuid:snapshot>/variants", snapshots.Variants.as_view(), name="variants"),
    path("agents/<uuid:agent>/releases", releases.AgentReleases.as_view(), name="agent_releases"),
    path("releases", releases.Releases.as_view(), name="releases"),
    path("releases/<uuid:release>", releases.ReleaseDetail.as_view(), name="release"),
    path("releases/<uuid:release>/transitions", releases.ReleaseTransitions.as_view(), name="release_transitions"),
    path("assets", assets.Assets.as_view(), name="assets"),
    path("assets/<uuid:asset>", assets.AssetDetail.as_view(), name="asset"),
    path("assets/<uuid:asset>/versions", assets.AssetVersions.as_view(), name="asset_versions"),
    path("assets/<uuid:asset>/versions/<int:number>", assets.AssetVersionDetail.as_view(), name="asset_version"),
    path(
        "assets/<uuid:asset>/versions/<int:number>/approval",
        assets.AssetVersionApproval.as_view(),
        name="asset_version_approval",
    ),
    path("configurations", configurations.Configurations.as_view(), name="configurations"),
    path(
        "configurations/<uuid:configuration>",
        configurations.ConfigurationDetail.as_view(),
        name="configuration",
    ),
    path(
        "configurations/<uuid:configuration>/revisions",
        configurations.ConfigurationRevisions.as_view(),
        name="configuration_revisions",
    ),
    path(
        "configurations/<uuid:configuration>/obstacles",
        configurations.ConfigurationObstacles.as_view(),
        name="configuration_obstacles",
    ),
    path("harnesses", configurations.Harnesses.as_view(), name="harnesses"),
    path("harnesses/<uuid:harness>", configurations.HarnessDetail.as_view(), name="harness"),
    path("model-routes", routes.ModelRoutes.as_view(), name="model_routes"),
    path("model-routes/<uuid:route>", routes.ModelRouteDetail.as_view(), name="model_route"),
    path("model-routes/<uuid:route>/revisions", routes.ModelRouteRevisions.as_view(), name="model_route_revisions"),
    path("connectors", connectors.Connectors.as_view(), name="connectors"),
    path("connectors/<uuid:connector>", connectors.ConnectorDetail.as_view(), name="connector"),
]
