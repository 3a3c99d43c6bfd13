"""Page addresses of agents, snapshots, releases, assets, model routes, connectors and subjects."""

from django.urls import path

from agents.views import assets, configurations, connectors, drafts, managing, releases, routes, snapshots, subjects

app_name = "agents"
urlpatterns = [
    path("", managing.agent_list, name="list"),
    path("new", managing.new, name="new"),
    path("subjects/", subjects.subject_list, name="subjects"),
    path("subjects/<uuid:subject>/", subjects.detail, name="subject"),
    path("snapshots/", snapshots.snapshot_list, name="snapshots"),
    path("snapshots/<uuid:snapshot>/", snapshots.snapshot, name="snapshot"),
    path("snapshots/<uuid:snapshot>/variant", snapshots.variant, name="variant"),
    path("snapshots/<uuid:snapshot>/deploy", snapshots.deploy, name="deploy"),
    path("snapshots/<uuid:snapshot>/start-over", drafts.start_over, name="start_over"),
    path("models/", routes.route_list, name="routes"),
    path("models/<uuid:route>/", routes.route, name="route"),
    path("connectors/", connectors.connector_list, name="connectors"),
    path("connectors/new", connectors.new_connector, name="new_connector"),
    path("connectors/<uuid:connector>/", connectors.connector, name="connector"),
    path("connectors/<uuid:connector>/archive", connectors.archive_connector, name="archive_connector"),
    path("connectors/<uuid:connector>/restore", connectors.restore_connector, name="restore_connector"),
    path("assets/", assets.asset_list, name="assets"),
    path("assets/new", assets.new_asset, name="new_asset"),
    path("assets/<uuid:asset>/", assets.asset, name="asset"),
    path("assets/<uuid:asset>/name", assets.rename_asset, name="rename_asset"),
    path("assets/<uuid:asset>/versions/new", assets.new_asset_version, name="new_asset_version"),
    path("assets/<uuid:asset>/versions/<int:number>/approve", assets.approve_asset, name="approve_asset"),
    path("assets/<uuid:asset>/archive", assets.archive_asset, name="archive_asset"),
    path("assets/<uuid:asset>/restore", assets.restore_asset, name="restore_asset"),
    path("releases/", releases.release_list, name="releases"),
    path("releases/<uuid:release>/", releases.release, name="release"),
    path("releases/<uuid:release>/bindings", releases.bind_release, name="bind_release"),
    path("releases/<uuid:release>/move", releases.move_release, name="move_release"),
    path("configurations/", configurations.configuration_list, name="configurations"),
    path("configurations/new", configurations.new_configuration, name="new_configuration"),
    path("configurations/<uuid:configuration>/", configurations.configuration, name="configuration"),
    path("configurations/<uuid:configuration>/edit", configurations.edit_configuration, name="edit_configuration"),
    path(
        "configurations/<uuid:configuration>/delete", configurations.delete_configuration, name="delete_configuration"
    ),
    path("harnesses/<uuid:harness>/", configurations.harness, name="harness"),
    path("<uuid:agent>/releases/new", releases.new_release, name="new_release"),
    path("<uuid:agent>/", managing.detail, name="agent"),
    path("<uuid:agent>/name", managing.rename, name="rename"),
    path("<uuid:agent>/archive", managing.archive, name="archive"),
    path("<uuid:agent>/restore", managing.restore, name="restore"),
    path("<uuid:agent>/draft", drafts.draft, name="draft"),
    path("<uuid:agent>/draft/changes", drafts.changes, name="changes"),
    path("<uuid:agent>/publish", drafts.publish, name="publish"),
]
