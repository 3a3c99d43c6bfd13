from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="delivery", name="most_attempts", field=models.PositiveSmallIntegerField(db_default=5)
        ),
        migrations.RunSQL(
            "UPDATE webhooks_delivery SET most_attempts = 1 WHERE event = 'ping'", migrations.RunSQL.noop
        ),
    ]
