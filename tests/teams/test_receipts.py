"""Request keys (reliability 3.1, R1 and R2): one operation per key, whatever the network did in between."""

from __future__ import annotations

import threading

import pytest
from django.db import connection

from teams import receipts
from teams.models import Receipt, Role
from teams.refusals import Refusal

BODY = {"name": "Guest", "rights": ["evaluation.read"]}
KEY = "key-of-the-test"


def perform(access):
    return lambda: Role.objects.create(team=access.team, name="Guest", rights=["evaluation.read"])


def test_r1_the_same_key_and_body_give_the_first_result(cast):
    access = cast.access(cast.ana)
    first, made = receipts.once(access, "role.create", KEY, BODY, Role, perform(access))
    again, made_again = receipts.once(access, "role.create", KEY, BODY, Role, perform(access))
    assert (made, made_again, again.pk) == (True, False, first.pk)
    assert Receipt.objects.count() == 1


def test_r1_one_result_of_many_concurrent_requests(transactional_db, cast):
    access, found, start = cast.access(cast.ana), [], threading.Barrier(8)

    def ask():
        try:
            start.wait(timeout=10)
            found.append(receipts.once(access, "role.create", KEY, BODY, Role, perform(access)))
        finally:
            connection.close()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len({row.pk for row, _ in found}) == 1
    assert sorted(made for _, made in found) == [False] * 7 + [True]
    assert Receipt.objects.count() == 1


def test_r1_no_receipt_without_its_operation(cast):
    access = cast.access(cast.ana)

    def fails():
        perform(access)()
        raise Refusal("conflict")

    with pytest.raises(Refusal):
        receipts.once(access, "role.create", KEY, BODY, Role, fails)
    assert not Receipt.objects.exists()
    assert not Role.objects.filter(name="Guest").exists()


@pytest.mark.parametrize("changed", [{**BODY, "name": "guest"}, {**BODY, "more": None}, {"name": "Guest"}, [], None])
def test_r2_another_body_under_the_key_is_a_conflict(cast, changed):
    access = cast.access(cast.ana)
    receipts.once(access, "role.create", KEY, BODY, Role, perform(access))
    with pytest.raises(Refusal) as refused:
        receipts.once(access, "role.create", KEY, changed, Role, perform(access))
    assert (refused.value.code, refused.value.status) == ("request_key_conflict", 409)
    assert Receipt.objects.count() == 1


def test_r2_the_order_of_fields_is_no_change(cast):
    access = cast.access(cast.ana)
    first, _ = receipts.once(access, "role.create", KEY, BODY, Role, perform(access))
    backwards = dict(reversed(BODY.items()))
    assert receipts.once(access, "role.create", KEY, backwards, Role, perform(access)) == (first, False)


def test_a_key_belongs_to_one_actor_team_and_operation(cast):
    role = Role.objects.create(team=cast.team, name="Guest", rights=[])
    for access, operation in (
        (cast.access(cast.ana), "one"),
        (cast.access(cast.ana), "another"),
        (cast.access(cast.omar), "one"),
        (cast.access(cast.cleo, cast.other_team), "one"),
    ):
        assert receipts.once(access, operation, KEY, BODY, Role, lambda: role)[1] is True


@pytest.mark.parametrize("key", [None, "", "short", "x" * 101, "line\nbreak", "nul\x00inside"])
def test_a_missing_or_odd_key_is_refused(key):
    with pytest.raises(Refusal) as refused:
        receipts.valid_key(key)
    assert refused.value.code == "request_key_missing"
