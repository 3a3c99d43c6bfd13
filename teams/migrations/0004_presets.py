from django.db import migrations

PRESETS = {
    "Viewer": ["evaluation.read", "agent.read"],
    "Analyst": ["evaluation.read", "agent.read", "evaluation.content.read", "evaluation.execute", "agent.test"],
    "Reviewer": ["evaluation.read", "agent.read", "evaluation.content.read", "evaluation.review"],
    "Manager": [
        "evaluation.read",
        "agent.read",
        "evaluation.content.read",
        "evaluation.execute",
        "agent.test",
        "evaluation.review",
        "evaluation.manage",
        "agent.edit",
    ],
    "Owner": [
        "evaluation.read",
        "evaluation.execute",
        "evaluation.content.read",
        "evaluation.review",
        "evaluation.manage",
        "agent.read",
        "agent.test",
        "agent.edit",
        "team.manage",
    ],
}
"""As they were at this migration; `teams.permissions` has the current ones."""


def fill(apps, schema_editor):
    role = apps.get_model("teams", "Role")
    for name, rights in PRESETS.items():
        role.objects.get_or_create(team=None, name=name, defaults={"rights": rights})


class Migration(migrations.Migration):
    dependencies = [("teams", "0003_invitations_and_scopes")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
