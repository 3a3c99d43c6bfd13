"""Every page of the console: accessible in both themes, never wider than a phone, quiet, and light to load."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from config.demo import DATASET
from tests.journeys.evidence import MAPPING, demo_rows, two_hundred_cases, write
from tests.journeys.house import NARROW, WIDE, House

MOST_BYTES = 250_000
MOST_REQUESTS = 12
UUID = "[0-9a-f-]{36}"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture(scope="module")
def imports(house: House, tmp_path_factory) -> dict[str, str]:
    """Addresses of imports in every state that waits for a person, and the pair of 200 cases."""
    folder = tmp_path_factory.mktemp("imports")
    (folder / "own.csv").write_text("ticket;who;mark\nT-1;a;1\nT-2;b;0\n")
    (folder / "broken.json").write_text('{"a": 1, "a": 2')
    doubled = demo_rows("2.0")[:12]
    rejected = write(folder / "doubled.jsonl", [*doubled, doubled[0]])
    mapped = ["--mapping", str(MAPPING)]
    jobs = {
        "needs_mapping": ([folder / "own.csv"], ["--dry-run"]),
        "refused": ([folder / "broken.json"], ["--dry-run", *mapped]),
        "ready": ([rejected], ["--dry-run", *mapped]),
        "completed": (two_hundred_cases(folder), mapped),
    }
    assert house.token
    with ThreadPoolExecutor(2) as pool:
        runs = {
            name: pool.submit(house.imports, *files, dataset="Routing", options=options)
            for name, (files, options) in jobs.items()
        }
    found = {}
    for name, run in runs.items():
        said = run.result().stdout + run.result().stderr
        address = re.search(f"(?:Import|Dry run) ({UUID}): {name}", said)
        assert address, said
        found[name] = f"/t/returns/imports/{address[1]}/"
    found["rejected"] = found["ready"] + "rejected/"
    found["discard"] = found["ready"] + "discard"
    found["pair"] = house.newest_pair("Routing")
    return found


def _inside(start: str, *steps: str) -> Callable[[House, dict[str, str]], str]:
    """Follow the first link of each form, from a page on."""

    def find(house: House, imports: dict[str, str]) -> str:
        address = start
        for step in steps:
            address = house.first_link(address, step)
        return address

    return find


def _demo(more: str) -> Callable[[House, dict[str, str]], str]:
    return lambda house, imports: house.demo_comparison + more


def _import(name: str) -> Callable[[House, dict[str, str]], str]:
    return lambda house, imports: imports[name]


def _at(path: str) -> Callable[[House, dict[str, str]], str]:
    return lambda house, imports: path


def _role(house: House, imports: dict[str, str]) -> str:
    """A role of the team's own, made on its page."""
    house.send(f"{S}/team/roles/", {"name": "Auditor of pages", "rights": "evaluation.read"})
    return house.first_link(f"{S}/team/roles/", rf"{S}/team/roles/{UUID}/")


def _webhook(more: str) -> Callable[[House, dict[str, str]], str]:
    """A page of a webhook that nobody listens to, made and pinged once."""

    def find(house: House, imports: dict[str, str]) -> str:
        here = rf"{S}/team/webhooks/{UUID}/"
        if not re.search(here, house.get(f"{S}/team/webhooks/")):
            said = {"name": "Nobody listens", "url": "http://127.0.0.1:9999/told", "events": "group.ended"}
            house.send(f"{S}/team/webhooks/new", said)
        return house.first_link(f"{S}/team/webhooks/", here) + more

    return find


def _invitation(house: House, imports: dict[str, str]) -> str:
    """The link that the page of members shows where there is no mail server."""
    role = re.search(rf'<option value="({UUID})"[^>]*>Viewer<', house.get(f"{S}/team/members/"))
    assert role
    shown = house.send(f"{S}/team/members/", {"email": "guest@example.org", "role": role[1]})
    link = re.search(r"/join/[\w-]+/", shown)
    assert link
    return link[0]


_NO_ROWS = {f"{rows}-{name}": "0" for rows in ("turns", "points") for name in ("TOTAL_FORMS", "INITIAL_FORMS")}


def _written(house: House) -> str:
    """A dataset of one's own: two versions, a slice, an open draft. Its address, the same for every page."""
    known = re.search(rf'href="({S}/datasets/{UUID}/)"><bdi>Written by hand', house.get(f"{S}/datasets/"))
    if known:
        return known[1]
    shown = house.send(f"{S}/datasets/new", {"name": "Written by hand"})
    address = re.search(rf"({S}/datasets/{UUID}/)cases/new", shown)
    assert address

    def write(name: str) -> None:
        words = {"source_id": name, "title": f"Case {name}", "kind": "input", "input": "What now?", "tags": "a\nb"}
        house.send(f"{address[1]}cases/new", {**words, **_NO_ROWS})

    def publish() -> None:
        revision = re.search(r'name="revision" value="(\d+)"', house.get(f"{address[1]}draft/"))
        assert revision
        house.send(f"{address[1]}draft/version", {"revision": revision[1]})

    for name in ("one", "two"):
        write(name)
        publish()
    condition = {"field": "tag", "operator": "is", "value": "a"}
    rows = {f"conditions-0-{name}": value for name, value in condition.items()}
    counts = {"conditions-TOTAL_FORMS": "1", "conditions-INITIAL_FORMS": "0"}
    house.send(f"{address[1]}slices/new", {"name": "Tagged", "match": "all", "version": "2", **rows, **counts})
    write("three")
    return address[1]


def _of_written(*steps: str) -> Callable[[House, dict[str, str]], str]:
    """A page of that dataset: a fixed end, or the first link of each form from there on."""

    def find(house: House, imports: dict[str, str]) -> str:
        address = _written(house)
        first, *rest = steps
        for step in rest:
            first = house.first_link(address + first, address + step).removeprefix(address)
        return address + first

    return find


def _of_agent(kind: str) -> Callable[[House, dict[str, str]], str]:
    """A page of experiments about the demo's first agent."""

    def find(house: House, imports: dict[str, str]) -> str:
        agent = house.first_link(f"{S}/agents/", rf"{S}/agents/{UUID}/")
        return f"{S}/experiments/{kind}/{agent.rstrip('/').rpartition('/')[2]}/"

    return find


def _tested(house: House, imports: dict[str, str]) -> str:
    """An Agent Test that has ended."""
    address = _of_agent("tests-of")(house, imports)
    shown = house.get(address)
    known = re.search(rf'href="({address}{UUID}/)"', shown)
    if known is None:
        revision = re.search(r'name="draft_revision" value="(\d+)"', shown)
        assert revision
        house.send(address, {"asked": "Where is QN-20418?", "draft_revision": revision[1], "key": "page-of-a-test"})
        known = re.search(rf'href="({address}{UUID}/)"', house.get(address))
        assert known
    for _ in range(100):
        if 'data-terminal="true"' in house.get(known[1]):
            break
        time.sleep(0.1)
    return known[1]


def _ran_here(house: House, imports: dict[str, str]) -> str:
    """An experiment that ran in this house."""
    shown = house.get(f"{S}/experiments/new")
    snapshot = re.search(rf'<option value="({UUID})">Help desk #', shown)
    version = re.search(rf'<option value="({UUID})">{DATASET}, version', shown)
    assert snapshot and version
    form = {"snapshot": snapshot[1], "version": version[1], "repetitions": "1", "tool_policy": "none"}
    house.send(f"{S}/experiments/new", {**form, "key": "page-of-a-run"})
    return house.first_link(f"{S}/experiments/", rf"{S}/experiments/{UUID}/")


def _setup(house: House, name: str) -> str:
    """The address of a setup that is filled in, without its step."""
    new = f"{S}/comparisons/groups/new"
    shown = house.get(new)
    snapshot = re.search(rf'name="base" value="({UUID})"', shown)
    version = re.search(rf'<option value="({UUID})">{DATASET}, version', shown)
    assert snapshot and version
    setup = "0198c0de-0000-7000-8000-" + hashlib.sha256(name.encode()).hexdigest()[:12]
    house.send(new, {"setup": setup, "name": name, "base": snapshot[1], "version": version[1]})
    here = f"{S}/comparisons/groups/setups/{setup}/"
    house.send(f"{here}arms", {"arm_0": "route:support-judge", "arm_1": "route:support-large"})
    grader = re.search(rf'value="({UUID}):generation"', house.get(f"{here}grading"))
    assert grader
    plan = {"repetitions": "1", "tool_policy": "none", "graders": f"{grader[1]}:generation", "primary": grader[1]}
    house.send(f"{here}grading", plan)
    return here


def _of_setup(step: str) -> Callable[[House, dict[str, str]], str]:
    return lambda house, imports: f"{_setup(house, 'Not started')}{step}"


def _of_template(house: House, imports: dict[str, str]) -> str:
    if "Weekly" not in house.get(f"{S}/comparisons/templates/"):
        here = _setup(house, "Saved")
        house.send(f"{here}readiness", {"go": "save_template", "template_name": "Weekly"})
    return house.first_link(f"{S}/comparisons/templates/", rf"{S}/comparisons/templates/{UUID}/")


def _of_group(house: House, imports: dict[str, str]) -> str:
    """A group of the demo's agent that runs in this house."""
    if "Of a journey" not in house.get(f"{S}/comparisons/groups/"):
        here = _setup(house, "Of a journey")
        ready = house.get(f"{here}readiness")
        key, sha = (re.search(rf'name="{name}" value="([^"]+)"', ready) for name in ("key", "readiness_sha256"))
        assert key and sha
        house.send(f"{here}start", {"key": key[1], "readiness_sha256": sha[1]})
    return house.first_link(f"{S}/comparisons/groups/", rf"{S}/comparisons/groups/{UUID}/")


def _grading(house: House, imports: dict[str, str]) -> str:
    experiment = house.first_link(f"{S}/experiments/", rf"{S}/experiments/{UUID}/")
    return f"{S}/graders/of/{experiment.rstrip('/').rpartition('/')[2]}/grade"


S = "/t/support"
PAGES: dict[str, tuple[str, Callable[[House, dict[str, str]], str]]] = {
    "login": ("", _at("/sign-in/")),
    "second_factor": ("ana", _at("/account/second-factor/")),
    "gallery": ("ana", _at("/components/")),
    "datasets:list": ("ana", _at(f"{S}/datasets/")),
    "datasets:detail": ("ana", _inside(f"{S}/datasets/", rf"{S}/datasets/{UUID}/")),
    "datasets:version": (
        "ana",
        _inside(f"{S}/datasets/", rf"{S}/datasets/{UUID}/", rf"{S}/datasets/{UUID}/versions/\d+/"),
    ),
    "datasets:revision": (
        "ana",
        _inside(f"{S}/datasets/", rf"{S}/datasets/{UUID}/", rf"{S}/datasets/{UUID}/revisions/{UUID}/"),
    ),
    "datasets:detail, with a draft": ("ana", _of_written("")),
    "datasets:new": ("ana", _at(f"{S}/datasets/new")),
    "datasets:rename": ("ana", _of_written("name")),
    "datasets:compare": ("ana", _of_written("compare")),
    "datasets:add_case": ("ana", _of_written("cases/new")),
    "datasets:bring": ("ana", _of_written("cases/bring")),
    "datasets:edit_case": ("ana", _of_written("draft/", rf"cases/{UUID}/")),
    "datasets:draft": ("ana", _of_written("draft/")),
    "datasets:slices": ("ana", _of_written("slices/")),
    "datasets:slices, without content": ("ben", _of_written("slices/")),
    "datasets:slice": ("ana", _of_written("slices/", rf"slices/{UUID}/")),
    "datasets:new_slice": ("ana", _of_written("slices/new")),
    "datasets:edit_slice": ("ana", _of_written("slices/", rf"slices/{UUID}/", rf"slices/{UUID}/filter")),
    "agents:list": ("ana", _at(f"{S}/agents/")),
    "agents:new": ("ana", _at(f"{S}/agents/new")),
    "agents:agent": ("ana", _inside(f"{S}/agents/", rf"{S}/agents/{UUID}/")),
    "agents:agent, without content": ("ben", _inside(f"{S}/agents/", rf"{S}/agents/{UUID}/")),
    "agents:rename": ("ana", _inside(f"{S}/agents/", rf"{S}/agents/{UUID}/", rf"{S}/agents/{UUID}/name")),
    "agents:draft": ("ana", _inside(f"{S}/agents/", rf"{S}/agents/{UUID}/", rf"{S}/agents/{UUID}/draft")),
    "agents:changes": ("ana", _inside(f"{S}/agents/", rf"{S}/agents/{UUID}/", rf"{S}/agents/{UUID}/draft/changes")),
    "agents:snapshots": ("ana", _at(f"{S}/agents/snapshots/")),
    "agents:snapshot": ("ana", _inside(f"{S}/agents/snapshots/", rf"{S}/agents/snapshots/{UUID}/")),
    "agents:snapshot, without content": ("ben", _inside(f"{S}/agents/snapshots/", rf"{S}/agents/snapshots/{UUID}/")),
    "agents:snapshot, against": (
        "ana",
        _inside(f"{S}/agents/", rf"{S}/agents/{UUID}/", rf"{S}/agents/snapshots/{UUID}/\?against=[^\"]+"),
    ),
    "agents:variant": (
        "ana",
        _inside(f"{S}/agents/snapshots/", rf"{S}/agents/snapshots/{UUID}/", rf"{S}/agents/snapshots/{UUID}/variant"),
    ),
    "agents:releases": ("ana", _at(f"{S}/agents/releases/")),
    "agents:release": ("ana", _inside(f"{S}/agents/releases/?state=active", rf"{S}/agents/releases/{UUID}/")),
    "agents:release, a draft": ("ana", _inside(f"{S}/agents/releases/?state=draft", rf"{S}/agents/releases/{UUID}/")),
    "agents:release, without content": ("ben", _inside(f"{S}/agents/releases/", rf"{S}/agents/releases/{UUID}/")),
    "agents:new_release": ("ana", _inside(f"{S}/agents/", rf"{S}/agents/{UUID}/", rf"{S}/agents/{UUID}/releases/new")),
    "agents:bind_release": (
        "ana",
        _inside(
            f"{S}/agents/releases/?state=draft",
            rf"{S}/agents/releases/{UUID}/",
            rf"{S}/agents/releases/{UUID}/bindings",
        ),
    ),
    "agents:assets": ("ana", _at(f"{S}/agents/assets/")),
    "agents:asset": ("ana", _inside(f"{S}/agents/assets/?kind=prompt_template", rf"{S}/agents/assets/{UUID}/")),
    "agents:asset, without content": ("ben", _inside(f"{S}/agents/assets/", rf"{S}/agents/assets/{UUID}/")),
    "agents:new_asset": ("ana", _at(f"{S}/agents/assets/new")),
    "agents:new_asset, tools": ("ana", _at(f"{S}/agents/assets/new?kind=toolset")),
    "agents:new_asset_version": (
        "ana",
        _inside(f"{S}/agents/assets/", rf"{S}/agents/assets/{UUID}/", rf"{S}/agents/assets/{UUID}/versions/new"),
    ),
    "agents:rename_asset": (
        "ana",
        _inside(f"{S}/agents/assets/", rf"{S}/agents/assets/{UUID}/", rf"{S}/agents/assets/{UUID}/name"),
    ),
    "agents:configurations": ("ana", _at(f"{S}/agents/configurations/")),
    "agents:new_configuration": ("ana", _at(f"{S}/agents/configurations/new")),
    "agents:configuration": (
        "ana",
        _inside(f"{S}/agents/configurations/", rf"{S}/agents/configurations/{UUID}/"),
    ),
    "agents:configuration, without content": (
        "ben",
        _inside(f"{S}/agents/configurations/", rf"{S}/agents/configurations/{UUID}/"),
    ),
    "agents:edit_configuration": (
        "ana",
        _inside(
            f"{S}/agents/configurations/",
            rf"{S}/agents/configurations/{UUID}/",
            rf"{S}/agents/configurations/{UUID}/edit",
        ),
    ),
    "agents:harness": ("ana", _inside(f"{S}/agents/configurations/", rf"{S}/agents/harnesses/{UUID}/")),
    "agents:routes": ("ana", _at(f"{S}/agents/models/")),
    "agents:route": ("ana", _inside(f"{S}/agents/models/", rf"{S}/agents/models/{UUID}/")),
    "agents:connectors": ("ana", _at(f"{S}/agents/connectors/")),
    "agents:new_connector": ("ana", _at(f"{S}/agents/connectors/new")),
    "agents:connector": ("ana", _inside(f"{S}/agents/connectors/", rf"{S}/agents/connectors/{UUID}/")),
    "agents:connector, as a viewer": ("ben", _inside(f"{S}/agents/connectors/", rf"{S}/agents/connectors/{UUID}/")),
    "agents:subjects": ("ana", _at(f"{S}/agents/subjects/")),
    "agents:subject": ("ana", _inside(f"{S}/agents/subjects/", rf"{S}/agents/subjects/{UUID}/")),
    "graders:list": ("ana", _at(f"{S}/graders/")),
    "graders:metrics": ("ana", _at(f"{S}/graders/metrics/")),
    "graders:new_metric": ("ana", _at(f"{S}/graders/metrics/new")),
    "graders:new": ("ana", _at(f"{S}/graders/new")),
    "graders:new, a judge": ("ana", _at(f"{S}/graders/new?kind=judge")),
    "graders:new, a validator": ("ana", _at(f"{S}/graders/new?kind=validator")),
    "graders:grader": ("ana", _inside(f"{S}/graders/?kind=assertion", rf"{S}/graders/{UUID}/")),
    "graders:grader, without content": ("ben", _inside(f"{S}/graders/", rf"{S}/graders/{UUID}/")),
    "graders:rename": (
        "ana",
        _inside(f"{S}/graders/?kind=assertion", rf"{S}/graders/{UUID}/", rf"{S}/graders/{UUID}/name"),
    ),
    "graders:new_version": (
        "ana",
        _inside(f"{S}/graders/?kind=assertion", rf"{S}/graders/{UUID}/", rf"{S}/graders/{UUID}/versions/new"),
    ),
    "experiments:list": ("ana", _at(f"{S}/experiments/")),
    "experiments:detail": ("ana", _inside(f"{S}/experiments/", rf"{S}/experiments/{UUID}/")),
    "experiments:execution": (
        "ana",
        _inside(f"{S}/experiments/", rf"{S}/experiments/{UUID}/", rf"{S}/experiments/{UUID}/executions/\d+/"),
    ),
    "experiments:new": ("ana", _at(f"{S}/experiments/new")),
    "experiments:evaluate": ("ana", _of_agent("of-draft")),
    "experiments:tests": ("ana", _of_agent("tests-of")),
    "experiments:test": ("ana", _tested),
    "experiments:detail, ran here": ("ana", _ran_here),
    "graders:regrade": ("ana", _grading),
    "imports:list": ("ana", _at("/t/returns/imports/")),
    "imports:new": ("ana", _at("/t/returns/imports/new/")),
    "imports:detail, needs a mapping": ("ana", _import("needs_mapping")),
    "imports:detail, refused": ("ana", _import("refused")),
    "imports:detail, ready": ("ana", _import("ready")),
    "imports:detail, completed": ("ana", _import("completed")),
    "imports:rejected": ("ana", _import("rejected")),
    "imports:discard": ("ana", _import("discard")),
    "comparisons:groups": ("ana", _at(f"{S}/comparisons/groups/")),
    "comparisons:new_group": ("ana", _at(f"{S}/comparisons/groups/new")),
    "comparisons:group": ("ana", _of_group),
    "comparisons:setup": ("ana", _of_setup("subject")),
    "comparisons:setup, arms": ("ana", _of_setup("arms")),
    "comparisons:setup, grading": ("ana", _of_setup("grading")),
    "comparisons:setup, readiness": ("ana", _of_setup("readiness")),
    "comparisons:templates": ("ana", _at(f"{S}/comparisons/templates/")),
    "comparisons:template": ("ana", _of_template),
    "comparisons:rename_template": ("ana", lambda house, imports: f"{_of_template(house, imports)}rename"),
    "comparisons:list": ("ana", _at(f"{S}/comparisons/")),
    "comparisons:paired": ("ana", _demo("")),
    "comparisons:paired, unmatched": ("ana", _demo("&tab=unmatched")),
    "comparisons:paired, coverage": ("ana", _demo("&tab=coverage")),
    "comparisons:paired, what changed": ("ana", _demo("&tab=changed")),
    "comparisons:paired, ranges": ("ana", _demo("&tab=ranges")),
    "comparisons:paired, plan": ("ana", _demo("&tab=plan")),
    "comparisons:paired, details": ("ana", _demo("&tab=details")),
    "comparisons:paired, without content": ("ben", _demo("")),
    "comparisons:paired, 200 cases": ("ana", _import("pair")),
    "comparisons:case": (
        "ana",
        lambda house, imports: house.first_link(house.demo_comparison, rf"{S}/comparisons/case\?[^\"]+"),
    ),
    "teams:overview": ("ana", _at(f"{S}/team/")),
    "teams:role": ("ana", _role),
    "join": ("", _invitation),
    "teams:roles": ("ana", _at(f"{S}/team/roles/")),
    "password_forgotten": ("", _at("/password/")),
    "password_change": ("ana", _at("/password/change/")),
    "teams:members": ("ana", _at(f"{S}/team/members/")),
    "teams:tokens": ("ana", _at("/t/returns/team/tokens/")),
    "teams:audit": ("ana", _at(f"{S}/team/audit/")),
    "webhooks:list": ("ana", _at(f"{S}/team/webhooks/")),
    "webhooks:new": ("ana", _at(f"{S}/team/webhooks/new")),
    "webhooks:detail": ("ana", _webhook("")),
    "webhooks:edit": ("ana", _webhook("edit")),
    "not found": ("ana", _at(f"{S}/datasets/00000000-0000-7000-8000-000000000000/")),
}
NO_PAGES = {
    "home": "leads elsewhere",
    "team_home": "leads elsewhere",
    "ping": "a word for machines",
    "logout": "a button",
    "theme": "a button",
    "imports:target": "a part of the dry run",
    "imports:map": "a button",
    "imports:confirm": "a button",
    "imports:rejected_csv": "a file",
    "comparisons:export": "a file",
    "api_docs": "is Swagger UI's; tests/journeys/test_api_docs.py looks at it",
    "password_new": "has the form of password_change",
    "datasets:archive": "a button",
    "datasets:restore": "a button",
    "datasets:remove_case": "a button",
    "datasets:undo_change": "a button",
    "datasets:make_version": "a button",
    "datasets:discard_draft": "a button",
    "datasets:archive_slice": "a button",
    "datasets:restore_slice": "a button",
    **dict.fromkeys(("agents:archive", "agents:restore", "agents:publish", "agents:start_over"), "a button"),
    **dict.fromkeys(("agents:deploy", "agents:move_release", "agents:delete_configuration"), "a button"),
    **dict.fromkeys(("agents:archive_connector", "agents:restore_connector"), "a button"),
    **dict.fromkeys(("agents:approve_asset", "agents:archive_asset", "agents:restore_asset"), "a button"),
    **dict.fromkeys(("graders:archive", "graders:restore", "graders:try_version"), "a button"),
    "single_sign_on": "a button",
    "openid_connect_callback": "leads elsewhere",
    "second_factor_code": "tests/journeys/test_second_factor.py looks at it",
    "teams:leave": "a button",
    "teams:resend_invitation": "a button",
    "teams:revoke_invitation": "a button",
    "teams:delete_role": "a button",
    "teams:audit_export": "a file",
    "teams:change_role": "a button",
    "teams:remove_member": "a button",
    "teams:revoke_token": "a button",
    **dict.fromkeys(("experiments:archive", "experiments:restore", "experiments:steer"), "a button"),
    **dict.fromkeys(("experiments:retry", "graders:steer_pass", "comparisons:steer_group"), "a button"),
    **dict.fromkeys(("comparisons:start_setup", "comparisons:drop_setup", "comparisons:again"), "a button"),
    **dict.fromkeys(
        ("comparisons:use_template", "comparisons:archive_template", "comparisons:restore_template"), "a button"
    ),
    "comparisons:group_state": "a part of a page",
    **dict.fromkeys(("webhooks:ping", "webhooks:send_again", "webhooks:rotate", "webhooks:steer"), "a button"),
    "webhooks:deliveries": "a part of a page",
    **dict.fromkeys(("experiments:progress", "experiments:test_state", "graders:passes"), "a part of a page"),
}


def test_every_page_of_the_address_list_is_looked_at():
    from django.urls import URLPattern, get_resolver

    def names(patterns, prefix=""):
        for pattern in patterns:
            space = getattr(pattern, "namespace", None)
            if space in ("api", "admin"):
                continue
            if isinstance(pattern, URLPattern):
                if pattern.name:
                    yield prefix + pattern.name
            else:
                yield from names(pattern.url_patterns, f"{space}:" if space else prefix)

    looked_at = {name.split(",")[0] for name in PAGES}
    assert set(names(get_resolver().url_patterns)) - looked_at - set(NO_PAGES) == set()


def violations(page: Page, rules: dict[str, object]) -> list[tuple[str, list[str]]]:
    found = Axe().run(page, options=rules).response["violations"]
    return [(rule["id"], [node["html"][:200] for node in rule["nodes"]][:5]) for rule in found]


def narrow(page: Page) -> None:
    """As on a phone, once the page has had the frames in which it answers to its new width."""
    page.set_viewport_size(NARROW)
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_narrow_and_quiet(visit, house, imports, name):
    who, where = PAGES[name]
    page = visit(where(house, imports), who=who, expect=["status of 404"] if name == "not found" else [])
    assert violations(page, {"runOnly": RULES}) == []
    page.emulate_media(color_scheme="dark")
    dark = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
    assert violations(page, dark) == []  # nothing else depends on the theme
    narrow(page)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= NARROW["width"]
    assert (
        violations(page, {"runOnly": {"type": "rule", "values": ["target-size", "scrollable-region-focusable"]}}) == []
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_open_case_panel_and_the_dialogs_are_accessible(visit, house, theme):
    page = visit(house.demo_comparison, theme=theme)
    page.get_by_role("link", name="Compare case").first.click()
    expect(page.locator('#case-panel [data-part="candidate"] .answer')).to_be_visible()
    assert violations(page, {"runOnly": RULES}) == []
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Change", exact=True).click()
    assert violations(page, {"runOnly": RULES}) == []
    narrow(page)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= NARROW["width"]


@pytest.mark.parametrize("where", ["comparisons:paired", "comparisons:paired, 200 cases"])
def test_the_comparison_page_is_light(chromium, house, imports, where):
    context = chromium.new_context(base_url=house.address, viewport=WIDE)
    context.add_cookies(house.cookies("ana"))
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    sizes: list[int] = []
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.goto(PAGES[where][1](house, imports), wait_until="networkidle")
    context.close()
    assert len(sizes) <= MOST_REQUESTS
    assert sum(sizes) <= MOST_BYTES


@pytest.mark.parametrize("where", ["comparisons:paired", "comparisons:paired, 200 cases"])
@pytest.mark.parametrize("filtered", [False, True], ids=["all", "regressions"])
def test_the_first_screen_answers_the_question(visit, house, imports, where, filtered):
    page = visit(PAGES[where][1](house, imports))
    if filtered:
        page.get_by_role("link", name=re.compile("^Regressions")).click()
        page.wait_for_url("**filter=regressions**")
        page.evaluate("scrollTo(0, 0)")
    height = WIDE["height"]

    def bottom(locator) -> float:
        box = locator.bounding_box()
        assert box and box["y"] >= 0
        return box["y"] + box["height"]

    assert bottom(page.locator(".say")) <= height
    assert bottom(page.locator(".finding figure").first) <= height
    assert re.search(r"interval, \d+ cases", page.locator(".finding figure").first.inner_text())
    for card in ("Generation reliability", "Per-grader coverage"):
        assert bottom(page.locator(".card", has_text=card)) <= height
    rows = page.locator("table.cases tbody tr")
    for number in range(5):
        assert bottom(rows.nth(number)) <= height, f"row {number + 1} of five ends below the first screen"
        assert re.fullmatch(r"\s*\d/\d\s*", rows.nth(number).locator("td").nth(1).inner_text())
        assert re.fullmatch(r"\s*\d/\d\s*", rows.nth(number).locator("td").nth(2).inner_text())
        assert "−" in rows.nth(number).locator("td").nth(3).inner_text()
