"""The second step of signing in: asked for, taken once, locked like a password, and never in the clear."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor

import pyotp
import pytest
from django.core.cache import cache
from django.db import connection, connections
from django.test import Client

from config.signing_in import LIMITS
from config.waiting import WAITING, WAITS_SECONDS
from teams import second_factor
from teams.models import AuditEvent, RecoveryCode, SecondFactor
from teams.refusals import Refusal

FORM = {"username": "ana@example.org", "password": "a-long-password"}
HERE = "/account/second-factor/"


@pytest.fixture(autouse=True)
def no_earlier_attempts(db):
    cache.clear()
    left = 30 - time.time() % 30
    if left < 6:  # a test whose codes change under it would say nothing about us
        time.sleep(left + 0.1)
    yield
    cache.clear()


def code_at(key: str, steps: int = 0) -> str:
    return pyotp.TOTP(key).at(int(time.time()) + 30 * steps)


@pytest.fixture
def ana(cast, page_client):
    return page_client(cast.ana)


@pytest.fixture
def key(ana) -> str:
    page = ana.get(HERE).content.decode()
    shown = re.search(r"Key: <code>([A-Z2-7 ]+)</code>", page)
    assert shown and "<svg" in page
    return shown[1].replace(" ", "")


@pytest.fixture
def codes(ana, key) -> list[str]:
    page = ana.post(HERE, {"code": code_at(key, -1)}).content.decode()
    found = re.findall(
        r"^[0-9a-f]{5}-[0-9a-f]{5}$", page.replace('<pre class="code" id="codes" tabindex="0">', ""), re.M
    )
    assert len(found) == second_factor.RECOVERY_CODES
    return found


def password_given() -> Client:
    client = Client()
    answer = client.post("/sign-in/", FORM)
    assert answer["Location"] == "/sign-in/code/"
    return client


def signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def test_a_password_alone_opens_nothing_once_it_is_on(cast, codes, key):
    client = password_given()
    assert not signed_in(client)
    assert client.get(f"/t/{cast.team.slug}/datasets/").status_code == 302
    before = client.session.session_key
    done = client.post("/sign-in/code/", {"code": code_at(key)})
    assert done.status_code == 302 and signed_in(client) and client.session.session_key != before
    assert WAITING not in client.session
    actions = list(AuditEvent.objects.filter(actor=cast.ana).values_list("action", flat=True))
    assert "second_factor.confirmed" in actions and "session.started" in actions


def test_where_one_wanted_to_go_is_kept_and_only_inside(cast, codes, key):
    for following, expected in ((f"/t/{cast.team.slug}/agents/", None), ("https://evil.example/", "/")):
        SecondFactor.objects.update(last_step=0)
        client = Client()
        client.post("/sign-in/", {**FORM, "next": following})
        done = client.post("/sign-in/code/", {"code": code_at(key)})
        assert done["Location"] == (expected or following)


def test_no_code_works_twice_also_at_the_same_moment(cast, codes, key):
    client, code = password_given(), code_at(key)
    client.post("/sign-in/code/", {"code": code})
    again = password_given()
    refused = again.post("/sign-in/code/", {"code": code})
    assert refused.status_code == 422 and not signed_in(again)
    assert "not right, or was used already" in refused.content.decode()
    older = code_at(key, -1)
    assert password_given().post("/sign-in/code/", {"code": older}).status_code == 422


@pytest.mark.django_db(transaction=True)
def test_of_many_who_show_one_code_at_once_one_is_let_in(cast, codes, key):
    code = code_at(key)

    def show(number: int) -> bool:
        try:
            second_factor.verify(cast.ana, code)
        except Refusal as refusal:
            assert refusal.code == "code_wrong"
            return False
        finally:
            connections.close_all()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(show, range(8))) == 1


def test_a_clock_may_be_one_step_off_and_no_more(cast, codes, key):
    for steps, taken in ((-1, False), (1, True), (3, False), (-3, False)):
        SecondFactor.objects.update(last_step=int(time.time()) // 30 - 1 if steps == -1 else 0)
        client = password_given()
        assert (client.post("/sign-in/code/", {"code": code_at(key, steps)}).status_code == 302) is taken


def test_a_recovery_code_works_once_however_it_is_typed(cast, codes):
    client = password_given()
    assert client.post("/sign-in/code/", {"code": f" {codes[0].upper()} "}).status_code == 302
    assert RecoveryCode.objects.filter(used_at=None).count() == 9
    assert password_given().post("/sign-in/code/", {"code": codes[0]}).status_code == 422
    assert AuditEvent.objects.filter(action="second_factor.recovery_code_used").count() == 1


def test_wrong_codes_lock_the_same_door_as_wrong_passwords(cast, codes, key):
    client = password_given()
    for _ in range(LIMITS["pair"]):
        assert client.post("/sign-in/code/", {"code": "000000"}).status_code == 422
    assert client.post("/sign-in/code/", {"code": code_at(key)}).status_code == 429
    assert Client().post("/sign-in/", FORM).status_code == 429
    assert not signed_in(client)


def test_a_password_that_was_right_long_ago_is_asked_for_again(cast, codes, key):
    client = password_given()
    session = client.session
    session[WAITING] = {**session[WAITING], "at": int(time.time()) - WAITS_SECONDS - 1}
    session.save()
    assert client.post("/sign-in/code/", {"code": code_at(key)})["Location"] == "/sign-in/"
    assert not signed_in(client)
    assert Client().get("/sign-in/code/")["Location"] == "/sign-in/"


def test_a_closed_account_is_not_let_in_by_a_code(cast, codes, key):
    client = password_given()
    cast.ana.is_active = False
    cast.ana.save()
    client.post("/sign-in/code/", {"code": code_at(key)})
    assert not signed_in(client)


def test_a_new_password_signs_nobody_in_past_the_code(cast, codes):
    client = Client()
    from teams import mail

    link = mail.password_link(cast.ana)
    page = client.get(link[link.index("/password/") :], follow=True)
    address = page.redirect_chain[-1][0]
    words = {"new_password1": "another-long-password", "new_password2": "another-long-password"}
    assert client.post(address, words).status_code == 302
    assert not signed_in(client)
    cast.ana.refresh_from_db()
    assert cast.ana.check_password("another-long-password")
    answer = client.post("/sign-in/", {**FORM, "password": "another-long-password"})
    assert answer["Location"] == "/sign-in/code/"


def test_a_wrong_code_sets_nothing_up_and_keeps_the_key(ana, key):
    refused = ana.post(HERE, {"code": "000000"})
    assert refused.status_code == 422 and "not right" in refused.content.decode()
    assert SecondFactor.objects.get().confirmed_at is None
    again = re.search(r"Key: <code>([A-Z2-7 ]+)</code>", ana.get(HERE).content.decode())
    assert again and again[1].replace(" ", "") == key
    assert Client().post("/sign-in/", FORM)["Location"] != "/sign-in/code/"


def test_it_is_turned_off_and_its_codes_renewed_with_a_code(cast, ana, codes):
    assert ana.post(HERE, {"code": "nonsense", "act": "off"}).status_code == 422
    renewed = ana.post(HERE, {"code": codes[0], "act": "codes"}).content.decode()
    assert codes[1] not in renewed and RecoveryCode.objects.filter(used_at=None).count() == 10
    assert ana.post(HERE, {"code": codes[1], "act": "off"}).status_code == 422
    fresh = re.findall(r"\b[0-9a-f]{5}-[0-9a-f]{5}\b", renewed)
    assert ana.post(HERE, {"code": fresh[0], "act": "off"}).status_code == 302
    assert not SecondFactor.objects.exists()
    assert Client().post("/sign-in/", FORM)["Location"] == "/"
    for act, code in ((second_factor.verify, "000000"), (second_factor.turn_off, "000000")):
        with pytest.raises(Refusal) as refused:
            act(cast.ana, code)
        assert refused.value.code == "second_factor_off"


def test_a_second_one_is_not_set_up_over_the_first(cast, codes, key):
    for act in (lambda: second_factor.begin(cast.ana), lambda: second_factor.confirm(cast.ana, code_at(key))):
        with pytest.raises(Refusal) as refused:
            act()
        assert refused.value.code == "second_factor_on"


def test_neither_key_nor_code_lies_in_the_database(cast, codes, key):
    with connection.cursor() as cursor:
        cursor.execute("SELECT s::text, convert_from(s.key, 'latin1') FROM teams_secondfactor s")
        row = cursor.fetchone()
        cursor.execute("SELECT string_agg(r::text, ' ') FROM teams_recoverycode r")
        kept = f"{row} {cursor.fetchone()}"
    assert key not in kept and not any(code in kept or code.replace("-", "") in kept for code in codes)


def test_another_secret_of_the_server_opens_no_key_and_an_earlier_one_still_does(cast, codes, key, settings):
    before, settings.SECRET_KEY = settings.SECRET_KEY, "another-secret-of-the-server-" * 3
    with pytest.raises(Refusal) as refused:
        second_factor.verify(cast.ana, code_at(key))
    assert refused.value.code == "second_factor_off"
    settings.SECRET_KEY_FALLBACKS = [before]
    second_factor.verify(cast.ana, code_at(key))


def test_an_operator_removes_it_and_the_log_says_so(cast, client, codes):
    client.force_login(cast.operator)
    sent = {"action": "remove_second_factor", "_selected_action": [cast.ana.pk, cast.omar.pk]}
    assert "1 removed" in client.post("/operators/teams/user/", sent, follow=True).content.decode()
    assert not SecondFactor.objects.exists()
    event = AuditEvent.objects.get(action="second_factor.removed")
    assert (event.actor, event.object_id) == (cast.operator, cast.ana.pk)


def test_nobody_reaches_the_page_without_signing_in(client):
    assert client.get(HERE)["Location"].startswith("/sign-in/")
