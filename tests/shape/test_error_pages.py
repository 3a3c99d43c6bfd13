"""Every status a refusal can have has a page, which says the sentence, the code and what to do next."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser
from django.template.loader import render_to_string

from config.errors import PAGES
from teams.refusals import CATALOGUE, Refusal


@pytest.fixture
def request_of_nobody(rf):
    request = rf.get("/nowhere/")
    request.user = AnonymousUser()
    return request


@pytest.mark.parametrize("status", sorted(PAGES))
def test_page_without_a_refusal_still_speaks(request_of_nobody, status):
    html = render_to_string(f"errors/{status}.html", {}, request_of_nobody)
    assert "<h1>" in html
    assert 'class="btn primary"' in html
    assert 'data-code=""' not in html


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_page_of_a_refusal(request_of_nobody, code):
    refusal = Refusal(code, "This was <wrong>.", place="line 3")
    page = refusal.status if refusal.status in PAGES else 400
    html = render_to_string(f"errors/{page}.html", {"refusal": refusal, "request_id": "r1"}, request_of_nobody)
    assert "line 3:" in html
    assert "This was &lt;wrong&gt;." in html
    assert f'data-code="{code}"' in html
    assert "<code>r1</code>" in html


def test_the_page_of_a_fault_asks_the_database_nothing(request_of_nobody):
    html = render_to_string("errors/500.html", {"refusal": Refusal("server_error")}, request_of_nobody)
    assert "Sign out" not in html
    assert "top-me" not in html
