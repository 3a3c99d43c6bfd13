"""What must hold after every fault, as SQL: each statement counts what must not be, and each must count nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg import sql

from analysis.observations import Generation, Outcome

CANARY: Final = "canary-7f3a"
"""Stands in every case; no table but those of protected content may hold it."""

CALLS_OF: Final = {
    "runs_execution": ("runs_attempt", "execution_id"),
    "runs_drafttest": ("runs_drafttestattempt", "draft_test_id"),
    "grading_judgment": ("grading_judgmentattempt", "judgment_id"),
    "grading_enrichment": ("grading_enrichmentattempt", "enrichment_id"),
}
"""What is worked on, and the outside calls of it."""

WATCHED: Final = {
    **dict.fromkeys(("runs_execution", "runs_drafttest", "runs_experiment", "grading_gradingpass"), "state"),
    **{calls: "state" for calls, _ in CALLS_OF.values()},
    "grading_judgment": "outcome",
    "grading_enrichment": "outcome",
}
PROTECTED: Final = (
    *("datasets_itemcontent", "agents_snapshotdefinition", "agents_subjectdefinition", "runs_answer", "runs_turn"),
    *("runs_spancontent", "runs_drafttestcontent", "runs_drafttestanswer"),
    *("grading_reasoning", "grading_enrichmentoutput"),
)
FROZEN: Final = (
    *("agents_snapshot", "agents_subject", "agents_modelrouterevision", "datasets_version", "datasets_versionentry"),
    *("datasets_itemrevision", "datasets_item", "runs_armcolumns", "teams_receipt", "teams_auditevent"),
    *("grading_graderversion", "grading_passgrader"),
)

P, R, C, F, B, X, I = (  # noqa: E741
    str(one.value)
    for one in (
        Generation.PLANNED,
        Generation.RUNNING,
        Generation.COMPLETED,
        Generation.FAILED,
        Generation.BLOCKED,
        Generation.CANCELLED,
        Generation.INDETERMINATE,
    )
)
PENDING, WAITING, SCORED = (str(one.value) for one in (Outcome.PENDING, Outcome.WAITING_FOR_EVIDENCE, Outcome.SCORED))
JUDGED: Final = [str(one.value) for one in Outcome if one > Outcome.WAITING_FOR_EVIDENCE]
MACHINES: Final = {
    "runs_execution": {(P, R), (P, B), (P, X), (R, P), *((R, end) for end in (C, F, B, X, I))},
    "runs_drafttest": {(P, R), (P, B), (P, X), (R, P), *((R, end) for end in (C, F, B, X, I))},
    **{
        calls: {
            *(("admitted", end) for end in ("settled", "failed", "blocked", "interrupted", "indeterminate")),
            ("indeterminate", "settled_late"),
        }
        for calls, _ in CALLS_OF.values()
    },
    "grading_judgment": {(WAITING, PENDING), *((was, end) for was in (PENDING, WAITING) for end in JUDGED)},
    "grading_enrichment": {(PENDING, end) for end in JUDGED},
    "grading_gradingpass": {("running", "completed"), ("running", "cancelled")},
    "runs_experiment": {
        *(("setup", "running"), ("running", "completed"), ("running", "cancelled"), ("completed", "running")),
    },
}
"""The machines as they are documented, written down here once more."""

RECORDER: Final = """
    CREATE SCHEMA faults;
    CREATE TABLE faults.step (kind text, id text, old text, new text, old_epoch int, new_epoch int);
    CREATE TABLE faults.touched (kind text, did text);
    CREATE FUNCTION faults.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
            INSERT INTO faults.step VALUES (TG_TABLE_NAME, OLD.id::text, to_jsonb(OLD)->>TG_ARGV[0],
                to_jsonb(NEW)->>TG_ARGV[0], (to_jsonb(OLD)->>'epoch')::int, (to_jsonb(NEW)->>'epoch')::int);
            RETURN NULL;
        END $$;
    CREATE FUNCTION faults.touch() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
            INSERT INTO faults.touched VALUES (TG_TABLE_NAME, TG_OP);
            RETURN NULL;
        END $$;
    CREATE TRIGGER zz_touch AFTER UPDATE OR DELETE ON teams_auditevent FOR EACH ROW EXECUTE FUNCTION faults.touch();
    CREATE TABLE faults.frozen (kind text, id text, mark text);
"""

OPEN: Final = {table: (P, R) if table.startswith("runs_") else (PENDING, WAITING) for table in CALLS_OF}
_CALL: Final = "id, state, settled_at, cost_micros, cost_coverage, cost_basis, failure_code, epoch"
CALLS: Final = " UNION ALL ".join(
    f"SELECT {_CALL}, '{table}' AS kind, {owner}::text AS owner FROM {calls}"
    for table, (calls, owner) in CALLS_OF.items()
)
ROWS: Final = " UNION ALL ".join(
    f"SELECT id::text, '{table}' AS kind, {WATCHED[table]} NOT IN ({', '.join(OPEN[table])}) AS ended,"
    f" cost_micros, cost_coverage, epoch, lease_until FROM {table}"
    for table in CALLS_OF
)
PAIRS: Final = f"({ROWS}) x JOIN ({CALLS}) a ON a.kind = x.kind AND a.owner = x.id"
SEVERAL: Final = (
    "EXISTS (SELECT 1 FROM runs_attempt t WHERE t.execution_id = a.execution_id AND t.called_id IS NOT NULL)"
)
"""An execution whose turns take several calls, because tools are run in them."""

REPEATED: Final = f"""
    SELECT coalesce(sum(n - 1), 0) FROM (
        SELECT count(*) AS n FROM provider_call c JOIN runs_attempt a ON a.id = c.reference
        WHERE a.state <> 'failed' AND NOT {SEVERAL} GROUP BY a.execution_id, a.turn HAVING count(*) > 1
        UNION ALL
        SELECT count(*) FROM runs_attempt a WHERE a.state <> 'failed' AND a.called_id IS NOT NULL
        GROUP BY a.called_id HAVING count(*) > 1
        UNION ALL
        SELECT count(*) FROM provider_call c JOIN ({CALLS}) a ON a.id = c.reference
        WHERE a.state <> 'failed' AND a.kind <> 'runs_execution' GROUP BY a.kind, a.owner HAVING count(*) > 1) again
"""
INDETERMINATE: Final = f"""
    SELECT count(*) FROM ({CALLS}) a
    WHERE failure_code = 'invocation_indeterminate' OR state IN ('indeterminate', 'settled_late')
"""
PAID: Final = f"""
    SELECT x.experiment_id, sum(a.cost_micros)::bigint
    FROM runs_attempt a JOIN runs_execution x ON x.id = a.execution_id
    WHERE x.state NOT IN ({P}, {R}) GROUP BY 1
"""
"""What each experiment's calls cost, of the items that have ended."""

CHECKS: Final = {
    "I1": f"SELECT count(*) FROM provider_call c WHERE c.reference NOT IN (SELECT id FROM ({CALLS}) a)",
    "I2": "SELECT count(*) FROM (SELECT 1 FROM provider_call GROUP BY reference HAVING count(*) > 1) x",
    "I3": f"""
        SELECT (SELECT count(*) FROM runs_execution x WHERE x.state = {C} AND (
                    EXISTS (SELECT 1 FROM runs_attempt a WHERE a.execution_id = x.id AND a.state = 'indeterminate')
                    OR NOT EXISTS (SELECT 1 FROM runs_attempt a WHERE a.execution_id = x.id
                                   AND a.state IN ('settled', 'settled_late'))))
             + (SELECT count(*) FROM grading_judgment j JOIN grading_judgmentattempt a ON a.judgment_id = j.id
                WHERE j.outcome = {SCORED} AND a.state = 'indeterminate')
             + (SELECT count(*) FROM {PAIRS} WHERE x.ended AND a.state = 'admitted')
    """,
    "I4": f"""
        SELECT count(*) FROM ({CALLS}) a WHERE state IN ('settled', 'settled_late', 'failed')
        AND (settled_at IS NULL OR (cost_coverage = 0) <> (cost_basis = ''))
    """,
    "I5": f"""
        SELECT (SELECT count(*) FROM faults.step WHERE new_epoch < old_epoch)
             + (SELECT count(*) FROM {PAIRS} WHERE a.epoch > x.epoch)
             + (SELECT count(*) FROM runs_answer w JOIN runs_execution x ON x.id = w.execution_id WHERE x.state <> {C})
             + (SELECT count(*) FROM (SELECT 1 FROM runs_attempt a WHERE state = 'settled' AND NOT {SEVERAL}
                                      GROUP BY execution_id, turn HAVING count(*) > 1) twice)
             + (SELECT count(*) FROM (SELECT 1 FROM ({CALLS}) a WHERE state = 'settled' AND kind <> 'runs_execution'
                                      GROUP BY kind, owner HAVING count(*) > 1) twice)
    """,
    "I6": """
        SELECT count(*) FROM (SELECT 1 FROM runs_experiment WHERE batch_id IS NOT NULL
                              GROUP BY batch_id HAVING count(*) <> max(arm) + 1) x
    """,
    "I7": """
        SELECT count(*) FROM (SELECT 1 FROM teams_receipt
                              GROUP BY team_id, actor_id, operation, key HAVING count(*) > 1) x
    """,
    "I8": """
        SELECT (SELECT count(*) FROM acknowledged k WHERE k.id NOT IN (SELECT id FROM runs_experiment))
             + (SELECT count(*) FROM runs_experiment e WHERE e.planned <> (
                    SELECT count(*) FROM runs_execution x WHERE x.experiment_id = e.id AND NOT x.superseded))
    """,
    "I9": """
        SELECT count(*) FROM faults.step s WHERE s.old IS DISTINCT FROM s.new AND NOT EXISTS (
            SELECT 1 FROM machine m WHERE (m.kind, m.old, m.new) = (s.kind, s.old, s.new))
    """,
    "I10": f"""
        SELECT (SELECT count(*) FROM (
                    SELECT 1 FROM {PAIRS} WHERE x.ended GROUP BY x.kind, x.id, x.cost_micros, x.cost_coverage
                    HAVING x.cost_micros <> sum(a.cost_micros)
                        OR x.cost_coverage = 2 AND min(a.cost_coverage) < 2
                        OR x.cost_coverage = 0 AND max(a.cost_coverage) > 0) wrong)
             + (SELECT count(*) FROM ({ROWS}) x WHERE x.ended AND x.cost_micros > 0
                AND NOT EXISTS (SELECT 1 FROM ({CALLS}) a WHERE a.kind = x.kind AND a.owner = x.id))
    """,
    "I11": "SELECT count(*) FROM faults.touched",
    "I12": f"""
        SELECT count(*) FROM ({ROWS}) x
        WHERE NOT ended AND lease_until < clock_timestamp() - make_interval(secs => %(grace)s)
    """,
    "I14": """
        SELECT (SELECT count(*) FROM grading_passgrader g JOIN grading_gradingpass p ON p.id = g.grading_pass_id
                JOIN runs_experiment e ON e.id = p.experiment_id JOIN grading_graderversion v ON v.id = g.version_id
                JOIN grading_grader r ON r.id = v.grader_id JOIN grading_metricdefinition d ON d.id = r.definition_id
                WHERE d.team_id <> e.team_id)
             + (SELECT count(*) FROM grading_judgment j JOIN grading_gradingpass p ON p.id = j.grading_pass_id
                JOIN runs_execution x ON x.id = j.execution_id WHERE x.experiment_id <> p.experiment_id)
             + count(*) FROM runs_experiment e
        JOIN datasets_version v ON v.id = e.version_id JOIN datasets_dataset d ON d.id = v.dataset_id
        LEFT JOIN runs_batch b ON b.id = e.batch_id
        WHERE d.team_id <> e.team_id OR b.team_id <> e.team_id
    """,
}


def install(owner: psycopg.Connection[Any]) -> None:
    """Have the database itself write down every step of every state, whoever makes it."""
    owner.execute(RECORDER)
    for table, column in WATCHED.items():
        owner.execute(
            sql.SQL("CREATE TRIGGER zz_note AFTER UPDATE ON {} FOR EACH ROW EXECUTE FUNCTION faults.note({})").format(
                sql.Identifier(table), sql.Literal(column)
            )
        )


def freeze(owner: psycopg.Connection[Any]) -> None:
    """Remember what stands in rows that never change."""
    for table in FROZEN:
        owner.execute(
            sql.SQL("INSERT INTO faults.frozen SELECT {}, to_jsonb(t)->>{}, md5(t::text) FROM {} t").format(
                sql.Literal(table), sql.Literal(_key(table)), sql.Identifier(table)
            )
        )


def violations(
    owner: psycopg.Connection[Any], *, calls: Iterable[UUID], acknowledged: Iterable[UUID], grace: float
) -> Mapping[str, int]:
    """The checks that do not count zero."""
    _listed(owner, "provider_call", "reference uuid", [(one,) for one in calls])
    _listed(owner, "acknowledged", "id uuid", [(one,) for one in acknowledged])
    steps = [(kind, *step) for kind, allowed in MACHINES.items() for step in allowed]
    _listed(owner, "machine", "kind text, old text, new text", steps)
    found = {name: _count(owner, statement, grace) for name, statement in CHECKS.items()}
    found["I13"] = _in_public_tables(owner)
    found["I15"] = sum(_changed(owner, table) for table in FROZEN)
    return {name: count for name, count in found.items() if count}


def _listed(owner: psycopg.Connection[Any], name: str, columns: str, rows: list[tuple[Any, ...]]) -> None:
    owner.execute(f"DROP TABLE IF EXISTS pg_temp.{name}")
    owner.execute(f"CREATE TEMPORARY TABLE {name} ({columns})")
    marks = ", ".join(["%s"] * len(columns.split(",")))
    with owner.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)


def _count(owner: psycopg.Connection[Any], statement: Any, grace: float = 0) -> int:
    row = owner.execute(statement, {"grace": grace}).fetchone()
    return int(row[0])


def _in_public_tables(owner: psycopg.Connection[Any]) -> int:
    tables = [row[0] for row in owner.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
    statement = sql.SQL("SELECT count(*) FROM {} t WHERE strpos(t::text, {}) > 0")
    return sum(
        _count(owner, statement.format(sql.Identifier(table), sql.Literal(CANARY)))
        for table in tables
        if table not in PROTECTED
    )


def _changed(owner: psycopg.Connection[Any], table: str) -> int:
    statement = sql.SQL(
        "SELECT count(*) FROM faults.frozen f WHERE f.kind = {name} AND NOT EXISTS "
        "(SELECT 1 FROM {table} t WHERE to_jsonb(t)->>{key} = f.id AND md5(t::text) = f.mark)"
    )
    return _count(
        owner,
        statement.format(name=sql.Literal(table), table=sql.Identifier(table), key=sql.Literal(_key(table))),
    )


def _key(table: str) -> str:
    return "experiment_id" if table == "runs_armcolumns" else "id"
