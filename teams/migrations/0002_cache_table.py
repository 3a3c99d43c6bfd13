"""The table behind the database cache, for installations without Valkey or Redis."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("teams", "0001_initial")]

    operations = [
        migrations.RunSQL(
            sql="""
                CREATE TABLE cache_entries (
                    cache_key varchar(255) PRIMARY KEY,
                    value text NOT NULL,
                    expires timestamp with time zone NOT NULL
                );
                CREATE INDEX cache_entries_expires ON cache_entries (expires);
            """,
            reverse_sql="DROP TABLE cache_entries;",
        )
    ]
