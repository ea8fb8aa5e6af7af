"""Who may see what: settings to tags, and a whole server whose store holds what is not for everyone (row B14)."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.access import WITHHELD, Access, Reader, noted, seen_of, withheld
from bot.model import IncidentView, Refused
from bot.settings import AccessSettings, load
from retrieval.errors import BadInput
from retrieval.index import open_index
from retrieval.kinds.base import Material
from retrieval.kinds.registry import KINDS
from retrieval.model import Alert, Case, CaseSources, Span
from tests.bot.serving import Served, served

S = 10**9
T0 = 1796078894 * S
SECRET = "PANKOW"  # a word that stands in restricted telemetry only


def access(channel: str = "", **section: object) -> Access:
    return Access(AccessSettings.model_validate(section), channel)


def view(*services: str, **change: object) -> IncidentView:
    alerts = tuple(
        Alert(source="generic", fingerprint=name, name="A", status="firing", starts_ns=T0, labels={"service": name})
        for name in services
    )
    fields = {"incident_id": "inc-1", "status": "done", "alerts": alerts, "firing": 1, "resolved": 0}
    return IncidentView(**{**fields, "started_ns": T0, "now_ns": T0, **change})  # type: ignore[arg-type]


def test_with_nothing_configured_everybody_sees_everything() -> None:
    open_ = access()

    assert open_.documents() == {"": ("public",)}
    assert open_.run_tags() == ("public",)
    for status in ("looking", "done", "failed"):
        assert open_.allows(view("pay", status=status), Reader())


def test_a_person_has_the_tags_of_everyone_their_own_and_the_channels() -> None:
    made = access(users={"U1": ["pay"]}, channels={"C1": ["ship"]}, readers={"ci": {"token": "t0", "tags": ["ops"]}})

    assert made.tags(Reader()) == ("public",)
    assert made.tags(Reader(user="U1", channel="C1")) == ("pay", "public", "ship")
    assert made.tags(Reader(user="U2", channel="C2")) == ("public",)
    nameless = access(users={"": ["pay"]}, channels={"": ["pay"]})
    assert nameless.tags(Reader()) == nameless.run_tags() == ("public",)
    assert made.bearer({"Authorization": "bearer t0"}) == Reader(token="ci")
    assert made.tags(Reader(token="ci")) == ("ops", "public")
    for header in ({}, {"Authorization": "Bearer t1"}, {"Authorization": "Basic t0"}, {"Authorization": "Bearer"}):
        assert made.bearer(header) is None


def test_an_incident_needs_a_tag_for_each_thing_that_it_was_made_from() -> None:
    made = access(services={"pay": ["pay"]}, users={"U1": ["pay"], "U2": ["ship"]})
    case = noted(Case(incident_id="inc-1", alerts=()), (("public",), ("pay", "ship")))

    assert seen_of(case) == (("public",), ("pay", "ship"))
    assert made.allows(view("cart", case=case), Reader(user="U2"))
    assert not made.allows(view("cart", case=case), Reader(user="U3"))
    assert made.allows(view("pay", case=case), Reader(user="U1"))
    assert not made.allows(view("pay", case=case), Reader(user="U2"))


def test_while_it_is_looked_into_all_that_it_is_looked_into_with_is_needed() -> None:
    made = access("C1", channels={"C1": ["pay"]}, users={"U1": ["pay"]})

    assert not made.allows(view("cart", status="looking", known="TypeError in pay"), Reader())
    assert made.allows(view("cart", status="looking"), Reader(user="U1"))


def test_a_channel_without_the_tags_learns_that_there_is_an_incident_and_no_more() -> None:
    made = access("C1", services={"pay": ["pay"]})
    shown = made.for_channel(view("pay", known=SECRET, stage=SECRET, changed=SECRET))

    assert withheld(shown)
    assert shown.stage == WITHHELD
    assert (shown.alerts, shown.case, shown.bundle) == ((), None, None)
    assert SECRET not in repr(shown)
    ordinary = view("cart")
    assert made.for_channel(ordinary) is ordinary
    assert not withheld(ordinary)


@pytest.mark.parametrize(
    ("section", "named"),
    [
        ({"services": {"pay": []}}, "access.services.pay"),
        ({"services": {"pay": ["a b"]}}, "access.services.pay"),
        ({"users": {"U1": [f"t{n}" for n in range(101)]}}, "access.users.U1"),
        ({"readers": {"ci": {"token": " "}}}, "access.readers.ci.token"),
        ({"readers": {"ci": {}}}, "access.readers.ci.token"),
        ({"default": []}, "access.default"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, section: dict[str, object], named: str) -> None:
    file = tmp_path / "r.yaml"
    file.write_text(json.dumps({"access": section}))

    with pytest.raises(BadInput) as caught:
        load(file, {})

    assert caught.value.subject == named


def _span(service: str, span: str, parent: str, failed: bool) -> Span:
    word = f"{service}word"
    return Span(
        trace_id="t" * 32, span_id=span, parent_span_id=parent, name=f"GET /{word}", service=service, kind="server",
        start_ns=T0, end_ns=T0 + S, status="error" if failed else "ok", status_message=word,
        attributes={"http.x": word},
    )  # fmt: skip


services = st.sampled_from(("edge", "pay", "ship"))


@given(
    chain=st.lists(st.tuples(services, st.booleans()), min_size=1, max_size=5),
    tags=st.dictionaries(services, st.sets(st.sampled_from(("public", "a", "b")), min_size=1).map(sorted).map(tuple)),
    reader=st.sets(st.sampled_from(("public", "a", "b"))),
)
def test_a_trace_document_that_a_reader_sees_has_no_word_of_a_service_that_they_do_not(
    chain: list[tuple[str, bool]], tags: dict[str, tuple[str, ...]], reader: set[str]
) -> None:
    spans = tuple(
        _span(name, f"{n:016x}", f"{n - 1:016x}" if n else "", failed) for n, (name, failed) in enumerate(chain)
    )
    material = Material(sources=CaseSources(spans=spans), acl={"": ("public",), **tags})
    documents = list(KINDS["trace"].documents(material))

    assert documents
    hidden = [name for name, _ in chain if not reader & set(material.tags_of(name))]
    for document in documents:
        if reader & set(document.acl):
            told = f"{document.title} {document.text} {document.attributes}"
            assert not [name for name in hidden if f"{name}word" in told]


def _restricted(*channels: str) -> dict[str, Any]:
    """Settings in which `pay` is for those with its tag, and the log's channel has it or has not."""
    readers = {"ci": {"token": "r1", "tags": ["pay"]}, "web": {"token": "r2", "tags": ["ship"]}}
    return {
        "RECEIPTS_ACCESS__SERVICES": '{"pay": ["pay"]}',
        "RECEIPTS_ACCESS__CHANNELS": json.dumps({name: ["pay"] for name in channels}),
        "RECEIPTS_ACCESS__USERS": '{"U1": ["pay"]}',
        "RECEIPTS_ACCESS__READERS": json.dumps(readers),
        "RECEIPTS_SANDBOX__ENABLED": "false",
        "RECEIPTS_EMBEDDING__MODEL": "",
    }


async def _store(folder: Path, acl: dict[str, tuple[str, ...]]) -> None:
    from retrieval.kinds.storing import Keeping, store_sources
    from retrieval.model import LogRecord

    index = await open_index(folder / "data" / "store")
    record = LogRecord(time_ns=T0, service="pay", severity=17, body=f"RuntimeError: {SECRET}")
    await store_sources(index, CaseSources(logs=(record,)), {}, Keeping(acl=acl))
    await index.close()


async def _concluded(here: Served, service: str) -> str:
    labels = {"alertname": "A", "service": service}
    body = {"alerts": [{"status": "firing", "labels": labels, "fingerprint": "f", "startsAt": "2026-11-30T22:48:14Z"}]}
    async with here.client.post("/alerts/alertmanager", json=body) as response:
        assert response.status == 202
    return await here.concluded()


@pytest.mark.parametrize("service", ["cart", "pay"])
async def test_a_server_never_shows_what_its_channel_may_not_see(tmp_path: Path, service: str) -> None:
    """The store holds an error of `pay`; incidents are told where `pay` may not be seen."""
    (tmp_path / "data").mkdir()
    await _store(tmp_path, {"pay": ("pay",), "": ("public",)})

    async with served(tmp_path, whole=True, **_restricted("C1")) as here:
        incident = await _concluded(here, service)
        assert here.parts.desk
        shown = await here.parts.desk.view(incident)
        assert shown.bundle is not None
        assert SECRET not in repr(shown)
        assert SECRET.encode() not in shown.bundle.path.read_bytes()
        async with here.client.get(f"/incidents/{incident}") as response:
            assert response.status == (401 if service == "pay" else 200)
        if service == "pay":
            with pytest.raises(Refused):
                await here.parts.desk.allow(incident, user="U2", channel="C2")
            await here.parts.desk.allow(incident, user="U1", channel="C2")
            await here.parts.desk.allow(incident, user="U2", channel="C1")
            told = here.log.read_text()
            assert "deliver" not in told
        else:
            await here.parts.desk.allow(incident, user="U2", channel="C2")


async def test_page_and_bundle_open_to_readers_with_the_tags_only(tmp_path: Path) -> None:
    """What was concluded from what is `pay`'s, because the alert is of another service, stays `pay`'s."""
    (tmp_path / "data").mkdir()
    await _store(tmp_path, {"pay": ("pay",), "": ("public",)})
    async with served(tmp_path, whole=True, **_restricted("log")) as here:
        incident = await _concluded(here, "cart")
        assert here.parts.desk
        case = (await here.parts.desk.view(incident)).case
        assert case is not None
        assert ("pay",) in seen_of(case)
        for path in (f"/incidents/{incident}", f"/incidents/{incident}/bundle"):
            for token, status in (("", 401), ("r1", 200), ("r2", 403), ("zz", 401)):
                headers = {"Authorization": f"Bearer {token}"} if token else {}
                async with here.client.get(path, headers=headers) as response:
                    assert response.status == status, (path, token)
                    assert (SECRET.encode() in await response.read()) == (status == 200)


def test_seen_survives_being_kept() -> None:
    case = replace(Case(incident_id="i", alerts=()), options={"answers": {}})

    assert noted(case, ()).options == {"answers": {}, "seen": []}
