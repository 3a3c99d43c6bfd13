"""F16, F27, F29: clocks that lie, disks that are full, transactions that another one ends."""

from __future__ import annotations

import signal
import time

import psycopg
import pytest

from runs.models import Attempt
from tests.faults.house import House
from tests.faults.servers import until


@pytest.mark.parametrize("shift", ["+1h", "-1h"])
def test_F27_a_worker_whose_clock_is_wrong(polled, faketime, shift):
    """Leases and sweeps go by the database's clock: nobody takes what is held, nobody keeps what is lost."""
    polled.provider.rule("question 1", "slow:4")
    polled.provider.rule("question 3", "slow:4")
    experiment = polled.launch(6)
    for prefix in (f"{faketime} -f {shift}", ""):
        polled.worker("polling", PREFIX=prefix, FAKETIME_DONT_FAKE_MONOTONIC="1")
    polled.fault_is_over()
    polled.ends(experiment, within=40)
    assert polled.states(experiment) == ["completed"] * 6
    assert len(polled.references) == 6
    now = time.time()
    for moment in Attempt.objects.values_list("admitted_at", "settled_at").first():
        assert abs(moment.timestamp() - now) < 600
    polled.settled()


def test_F29_a_full_disk_below_postgresql(opened):
    """Nothing half-written; what is under way ends known or unknown, and work goes on when there is space."""
    house: House = opened(broker=False, disk="220m")
    house.provider.rule("question 1", "hold")
    experiment = house.launch(6)
    house.worker("polling")
    house.provider.wait_held(1, 30)
    filler = house.servers.disk / "filler"
    with filler.open("wb") as file, pytest.raises(OSError, match="No space left"):
        while True:
            file.write(b"\0" * (1 << 20))
            file.flush()
    with house.owner() as owner, pytest.raises(psycopg.Error):
        for _ in range(200):  # the free space inside files is used up, too
            owner.execute("CREATE TABLE IF NOT EXISTS faults.more (text text)")
            owner.execute("INSERT INTO faults.more SELECT repeat(md5(i::text), 200) FROM generate_series(1, 2000) i")
    house.provider.release()
    time.sleep(3)
    at = time.time()
    filler.unlink()
    postgres = house.servers.postgres
    if house.servers.running[postgres.name].poll() is not None:
        house.servers.stop(postgres, signal.SIGKILL)
        house.servers.start(postgres)
    until(lambda: _answers(house), "the database writes again", 30)
    house.fault_is_over()
    house.ends(experiment, within=30)
    house.recovered(at)
    states = house.states(experiment)
    assert states[1] in ("completed", "indeterminate")
    assert states[:1] + states[2:] == ["completed"] * 5
    assert len(house.references) == 6
    house.settled()


def _answers(house: House) -> bool:
    try:
        with house.owner() as owner:
            owner.execute("DROP TABLE IF EXISTS faults.more")
    except psycopg.Error:
        return False
    return True


@pytest.mark.parametrize("state", ["40001", "40P01"])
def test_F16_a_settlement_that_the_database_rolls_back(polled, state):
    """A deadlock and a serialisation failure: the answer was paid for, so it is written again, not asked again."""
    with polled.owner() as owner:
        owner.execute(
            f"""
            CREATE SEQUENCE faults.thrown;
            GRANT USAGE ON SCHEMA faults TO app; GRANT USAGE ON SEQUENCE faults.thrown TO app;
            CREATE FUNCTION faults.throw() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    IF nextval('faults.thrown') IN (2, 3) THEN
                        RAISE EXCEPTION 'as if another transaction had gone first' USING ERRCODE = '{state}';
                    END IF;
                    RETURN NEW;
                END $$;
            CREATE TRIGGER aa_throw BEFORE INSERT ON runs_answer FOR EACH ROW EXECUTE FUNCTION faults.throw();
            """
        )
    experiment = polled.launch(4)
    polled.worker("polling")
    polled.fault_is_over()
    polled.ends(experiment)
    assert polled.states(experiment) == ["completed"] * 4
    assert len(polled.references) == 4
    polled.settled()
