"""Every model: whose it is, whether it may change, and that the database itself refuses what must not happen."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import DatabaseError, connection, models, transaction

from teams.management.commands.grant_app_role import frozen_tables, kept_tables
from teams.records import Content, Immutable, ImmutableError
from tests.shape.world import build

OURS = ("teams", "datasets", "agents", "runs", "grading", "intake", "comparisons")
MODELS = {
    model._meta.label: model
    for model in apps.get_models()
    if model._meta.app_label in OURS and not model._meta.auto_created
}

IMMUTABLE = {
    "teams.Receipt",
    "teams.AuditEvent",
    "datasets.Item",
    "datasets.ItemRevision",
    "datasets.Version",
    "datasets.VersionEntry",
    "datasets.SliceVersion",
    "datasets.Erratum",
    "agents.Subject",
    "agents.ModelRouteRevision",
    "agents.Snapshot",
    "agents.AgentDeployment",
    "agents.AssetVersion",
    "agents.AssetApproval",
    "agents.ReleaseTransition",
    "agents.ConfigurationRevision",
    "agents.ImportedAgent",
    "agents.HarnessRevision",
    "runs.Span",
    "grading.MetricDefinition",
    "grading.GraderVersion",
    "grading.PassGrader",
    "grading.Interpretation",
    "grading.SeriesColumn",
    "intake.ImportedRun",
    "comparisons.KeptResult",
    "comparisons.Arm",
    "comparisons.TemplateVersion",
}
"""Written once. The trigger `frozen` refuses every change."""

CONTENT = {
    "datasets.ItemContent",
    "datasets.SliceContent",
    "datasets.ErratumContent",
    "agents.SubjectDefinition",
    "agents.SnapshotDefinition",
    "agents.AssetContent",
    "agents.ConfigurationContent",
    "comparisons.TemplateBody",
    "runs.Answer",
    "runs.Turn",
    "runs.SpanContent",
    "runs.DraftTestContent",
    "runs.DraftTestAnswer",
    "grading.GraderConfig",
    "grading.Reasoning",
    "grading.EnrichmentOutput",
    "intake.ImportFileName",
}
"""Protected text beside its row. It may be taken away, never come back; the trigger `one_way` holds that."""

MUTABLE = {
    "teams.User": "people change their name and password",
    "teams.Team": "has a name",
    "teams.Role": "a team's own roles may be changed",
    "teams.Membership": "roles change and members leave",
    "teams.TeamGroupPermission": "derived from roles",
    "teams.Invitation": "is accepted, resent or revoked",
    "teams.SecondFactor": "is confirmed, used and turned off",
    "teams.RecoveryCode": "is used once",
    "teams.ApiToken": "is used, expires and is revoked",
    "datasets.Dataset": "is renamed and archived",
    "datasets.Draft": "is what is not a version yet",
    "datasets.Change": "is undone, and goes with its draft",
    "datasets.Slice": "is renamed and archived; its versions hold what it takes",
    "agents.Provider": "is renamed",
    "agents.ModelRoute": "is renamed; its active revision says what it means",
    "agents.Agent": "is renamed and archived",
    "agents.AgentDraft": "is what people edit; snapshots keep what was published",
    "agents.Configuration": "is deleted; its revisions say what it was",
    "agents.Harness": "is renamed; its active revision says what it is",
    "agents.Asset": "is renamed and archived; its versions say what it is",
    "agents.Release": "moves along its states; `machine` holds the order, `settled` the rest",
    "agents.ReleaseBinding": "changes while its release is a draft; `bound` holds the rest",
    "agents.Connector": "is renamed and archived",
    "agents.ConnectorReader": "is a role's right, given and taken",
    "runs.Experiment": "moves through its states and is archived; `finished` holds the rest",
    "runs.Execution": "moves along its states; `machine` holds the order",
    "runs.Batch": "says whose turn it is, and ends with its experiments",
    "runs.Deployment": "ends with its arm",
    "runs.Attempt": "is settled once; `settled` and `machine` hold the rest",
    "runs.ArmColumns": "is derived, and made anew after a retry; `unchanged` and `derived` hold the rest",
    "runs.DraftTest": "moves along its states; `machine` holds the order",
    "runs.DraftTestAttempt": "is settled once; `settled` and `machine` hold the rest",
    "grading.Grader": "is renamed and archived; `same` holds what it measures and how",
    "grading.ValidatorHost": "is archived and restored",
    "grading.GradingPass": "moves through its states; `finished` holds the rest",
    "grading.Judgment": "is settled once; `settled` holds the rest",
    "grading.JudgmentAttempt": "is settled once; `settled` and `machine` hold the rest",
    "grading.Enrichment": "is settled once; `settled` holds the rest",
    "grading.EnrichmentAttempt": "is settled once; `settled` and `machine` hold the rest",
    "comparisons.Group": "has a name; what it pinned stands in its arms, which never change",
    "comparisons.Template": "is renamed and archived, and counts its versions",
    "comparisons.Setup": "is what a person fills in, no evidence; it may be dropped until its group starts",
    "intake.Mapping": "is a person's saved preference",
    "intake.Import": "moves through its states",
    "intake.ImportText": "is written when an import is examined again",
    "intake.ImportFile": "its bytes are taken away by retention",
    "intake.RejectedRow": "goes with its dry run; `unchanged` and `kept_once_written` hold the rest",
    "intake.RejectedText": "goes with its row",
}
"""May change, and why."""

OWNED_THROUGH = {
    "teams.TeamGroupPermission": "content_object",
    "datasets.Item": "dataset",
    "datasets.ItemRevision": "item",
    "datasets.ItemContent": "revision",
    "datasets.Version": "dataset",
    "datasets.VersionEntry": "version",
    "datasets.Draft": "dataset",
    "datasets.Change": "draft",
    "datasets.Slice": "dataset",
    "datasets.SliceVersion": "slice",
    "datasets.SliceContent": "slice_version",
    "datasets.Erratum": "revision",
    "datasets.ErratumContent": "erratum",
    "agents.SubjectDefinition": "subject",
    "agents.AgentDraft": "agent",
    "agents.Snapshot": "agent",
    "agents.SnapshotDefinition": "snapshot",
    "agents.AgentDeployment": "agent",
    "agents.AssetVersion": "asset",
    "agents.AssetContent": "version",
    "agents.AssetApproval": "version",
    "agents.Release": "agent",
    "agents.ConfigurationRevision": "configuration",
    "agents.ConfigurationContent": "revision",
    "agents.ImportedAgent": "revision",
    "agents.ReleaseBinding": "release",
    "agents.ReleaseTransition": "release",
    "agents.ConnectorReader": "connector",
    "runs.Execution": "experiment",
    "runs.Deployment": "experiment",
    "runs.Turn": "execution",
    "runs.Span": "attempt",
    "runs.SpanContent": "span",
    "runs.DraftTestContent": "draft_test",
    "runs.DraftTestAnswer": "draft_test",
    "runs.DraftTestAttempt": "draft_test",
    "runs.Answer": "execution",
    "runs.Attempt": "execution",
    "runs.ArmColumns": "experiment",
    "grading.Grader": "definition",
    "grading.GraderVersion": "grader",
    "grading.GraderConfig": "version",
    "grading.GradingPass": "experiment",
    "grading.PassGrader": "grading_pass",
    "grading.Judgment": "grading_pass",
    "grading.JudgmentAttempt": "judgment",
    "grading.Enrichment": "execution",
    "grading.EnrichmentOutput": "enrichment",
    "grading.EnrichmentAttempt": "enrichment",
    "grading.Reasoning": "judgment",
    "grading.Interpretation": "grading_pass",
    "grading.SeriesColumn": "grading_pass",
    "comparisons.Arm": "group",
    "comparisons.TemplateVersion": "template",
    "comparisons.TemplateBody": "version",
    "intake.ImportText": "owner",
    "intake.ImportFile": "owner",
    "intake.ImportFileName": "file",
    "intake.RejectedRow": "owner",
    "intake.RejectedText": "row",
}
"""The path to the team, where a model has no column `team` of its own."""

WITHOUT_TEAM = {
    "teams.User": "a person may be in several teams",
    "teams.SecondFactor": "belongs to a person",
    "teams.RecoveryCode": "belongs to a person",
    "teams.Team": "is the owner itself",
    "teams.Role": "presets of the product have no team",
    "agents.Provider": "operators own it",
    "agents.Configuration": "built-in ones have no team",
    "agents.Harness": "operators own it",
    "agents.HarnessRevision": "operators own it",
    "agents.Asset": "those of the product have no team",
    "agents.ModelRoute": "operators own it; every team may use it",
    "grading.ValidatorHost": "operators own it; every team's validators may reach it",
    "agents.ModelRouteRevision": "operators own it",
    "teams.AuditEvent": "signing in and operators' acts belong to no team",
}
"""Models that no team owns, with the reason."""


def test_every_model_is_listed_once_as_immutable_content_or_mutable():
    listed = [*IMMUTABLE, *CONTENT, *MUTABLE]
    assert len(listed) == len(set(listed))
    assert set(listed) == set(MODELS)


@pytest.mark.parametrize("label", sorted(MODELS))
def test_every_model_belongs_to_one_team(label: str):
    if label in WITHOUT_TEAM:
        fields = {one.name: one for one in MODELS[label]._meta.fields}
        assert "team" not in fields or fields["team"].null, "it has a team: the exception is stale"
        return
    model, steps = MODELS[label], 0
    while (step := OWNED_THROUGH.get(model._meta.label, "team")) != "team":
        relation = model._meta.get_field(step)
        assert not relation.null
        model, steps = relation.related_model, steps + 1
        assert steps < 6
        if model._meta.label == "teams.Team" or model._meta.label in WITHOUT_TEAM:
            return
    assert not model._meta.get_field("team").null


def test_no_path_to_a_team_is_stale():
    for label in (*OWNED_THROUGH, *WITHOUT_TEAM):
        assert label in MODELS
    for label in OWNED_THROUGH:
        assert "team" not in {one.name for one in MODELS[label]._meta.fields}


@pytest.mark.parametrize("label", sorted(IMMUTABLE | CONTENT))
def test_no_immutable_row_can_be_swept_away_by_its_parent(label: str):
    for relation in MODELS[label]._meta.fields:
        if isinstance(relation, models.ForeignKey):
            assert relation.remote_field.on_delete is models.PROTECT, relation.name


def _triggers(label: str) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tgname FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal AND tgenabled = 'O'",
            [MODELS[label]._meta.db_table],
        )
        return {name.removeprefix("pgtrigger_").rsplit("_", 1)[0] for (name,) in cursor.fetchall()}


@pytest.mark.django_db
def test_the_database_carries_every_trigger_that_the_tables_promise():
    assert {label: _triggers(label) for label in IMMUTABLE} == {label: {"frozen"} for label in IMMUTABLE}
    assert {label: _triggers(label) for label in CONTENT} == {label: {"one_way"} for label in CONTENT}
    assert _triggers("runs.Experiment") == {"kept", "finished"}
    assert _triggers("agents.Release") == {"machine", "kept", "settled"}
    assert _triggers("agents.ReleaseBinding") == {"bound"}
    assert _triggers("runs.Execution") == {"kept", "machine", "nothing_late"}
    for label in ("runs.Attempt", "runs.DraftTestAttempt"):
        assert _triggers(label) == {"kept", "settled", "machine"}
    assert _triggers("runs.DraftTest") == {"kept", "machine"}
    assert _triggers("runs.ArmColumns") == {"unchanged", "derived"}
    assert _triggers("grading.Grader") == {"kept", "same"}
    assert _triggers("grading.GradingPass") == {"finished"}
    assert _triggers("intake.RejectedRow") == {"unchanged", "kept_once_written"}
    assert _triggers("grading.Judgment") == {"kept", "settled", "nothing_late"}


def test_the_lists_agree_with_the_classes():
    assert {label for label, model in MODELS.items() if issubclass(model, Content)} == CONTENT
    assert {label for label, model in MODELS.items() if issubclass(model, Immutable)} <= IMMUTABLE
    assert frozen_tables() == sorted(MODELS[label]._meta.db_table for label in IMMUTABLE)


def _refused(statement: str, values: list[object]) -> bool:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement, values)
    except DatabaseError as fault:
        return "pgtrigger" in str(fault) or "one way" in str(fault) or "not deleted" in str(fault)
    return False


def _changeable(model: type[models.Model]) -> str:
    """A column to write, the key itself where a row has nothing else."""
    others = [one.column for one in model._meta.concrete_fields if not one.primary_key]
    return others[0] if others else model._meta.pk.column


@pytest.mark.django_db
def test_the_database_refuses_to_change_or_delete_what_is_written_once(cast):
    build(cast.team, cast.ana)
    for label in sorted(IMMUTABLE):
        model = MODELS[label]
        row = model._base_manager.first()
        assert row is not None, f"tests/shape/world.py makes no {label}"
        table, key, column = model._meta.db_table, model._meta.pk.column, _changeable(model)
        where = [model._meta.pk.get_db_prep_value(row.pk, connection)]
        assert _refused(f"UPDATE {table} SET {column} = {column} WHERE {key} = %s", where), f"{label} can be changed"
        assert _refused(f"DELETE FROM {table} WHERE {key} = %s", where), f"{label} can be deleted"


@pytest.mark.django_db
def test_content_goes_one_way_and_its_row_stays(cast):
    build(cast.team, cast.ana)
    for label in sorted(CONTENT):
        model = MODELS[label]
        body = [one.column for one in model._meta.concrete_fields if one.null]
        row = model._base_manager.first()
        assert row is not None, f"tests/shape/world.py makes no {label}"
        table, key = model._meta.db_table, model._meta.pk.column
        where = [model._meta.pk.get_db_prep_value(row.pk, connection)]
        nothing = ", ".join(f"{column} = NULL" for column in body)
        assert _refused(f"DELETE FROM {table} WHERE {key} = %s", where), label
        assert _refused(f"UPDATE {table} SET availability = 'available' WHERE {key} = %s", where), label
        with connection.cursor() as cursor:
            cursor.execute(f"UPDATE {table} SET availability = 'redacted', {nothing} WHERE {key} = %s", where)
            assert cursor.rowcount == 1
        assert _refused(f"UPDATE {table} SET availability = 'available' WHERE {key} = %s", where), label


@pytest.mark.django_db
def test_python_refuses_first_and_by_name(cast):
    build(cast.team, cast.ana)
    for label in sorted(IMMUTABLE):
        model = MODELS[label]
        if not issubclass(model, Immutable):
            continue
        row = model.objects.first()
        for change in (row.save, row.delete, model.objects.all().delete, model.objects.all().update):
            with pytest.raises(ImmutableError, match=label):
                change()


@pytest.mark.django_db
def test_the_applications_role_may_not_touch_what_is_written_once():
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user, EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'app')")
        owner, there = cursor.fetchone()
        if not there or owner == "app":
            pytest.skip("this server has one database role only; its triggers protect the tables")
        call_command("grant_app_role")
        for table in frozen_tables():
            cursor.execute(
                "SELECT array_agg(p ORDER BY p)"
                " FROM unnest(ARRAY['DELETE', 'INSERT', 'SELECT', 'TRUNCATE', 'UPDATE']) p"
                " WHERE has_table_privilege('app', %s, p)",
                [table],
            )
            assert cursor.fetchone()[0] == ["INSERT", "SELECT"], table
        for table in kept_tables():
            for privilege in ("DELETE", "TRUNCATE"):
                cursor.execute("SELECT has_table_privilege('app', %s, %s)", [table, privilege])
                assert cursor.fetchone()[0] is False, (table, privilege)
