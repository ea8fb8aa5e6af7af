"""Which services there are, and whose log a file is."""

import json
from pathlib import Path

import pytest

from retrieval.ingest.intake import Intake
from retrieval.ingest.services import complete, read_services, service_of_file
from retrieval.model import ServiceInfo

from .folders import reasons


def declared(folder: Path, content: object) -> tuple[dict[str, ServiceInfo], list[str]]:
    intake = Intake()
    (folder / "services.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return read_services(folder, intake), reasons(intake.problems())


def test_what_services_json_says(tmp_path: Path) -> None:
    said = {
        "shop": {
            "repo": "shop-repo",
            "path_prefix": "/shop/",
            "language": "Python",
            "owners": ["@cart"],
            "environment": "req.txt",
        }
    }
    found, problems = declared(tmp_path, said | {"mail": "mail-repo", "web": {"owners": "@web"}})
    assert problems == []
    assert found["shop"] == ServiceInfo(
        name="shop", repo="shop-repo", path_prefix="shop", language="python", owners=("@cart",), environment="req.txt"
    )
    assert (found["mail"].repo, found["web"].owners) == ("mail-repo", ("@web",))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "the services were inferred"),
        ("[]", "the services were inferred"),
        ('{"shop": 7}', "shop: expected an object"),
    ],
)
def test_a_broken_one_is_reported(tmp_path: Path, content: str, reason: str) -> None:
    _, problems = declared(tmp_path, content)
    assert reason in problems[0]


def test_without_one_there_is_none(tmp_path: Path) -> None:
    assert read_services(tmp_path, Intake()) == {}


def test_services_that_only_records_name_are_added(tmp_path: Path) -> None:
    found = complete(
        {"shop": ServiceInfo(name="shop", repo="shop")}, ["shop", "edge", "", "cart-service"], {"shop", "cart"}
    )
    assert [(s.name, s.repo, s.declared) for s in found.values()] == [
        ("shop", "shop", True),
        ("cart-service", "cart", False),
        ("edge", "", False),
    ]


@pytest.mark.parametrize("repo", ["https://git.example/acme/shop.git", "../clones/shop", "", "other"])
def test_a_declared_repository_is_found_by_its_last_name_or_the_service_s(repo: str) -> None:
    assert complete({"shop": ServiceInfo(name="shop", repo=repo)}, [], {"shop"})["shop"].repo == "shop"


def test_without_any_record_the_repositories_are_the_services() -> None:
    assert list(complete({}, [], {"b", "a"})) == ["a", "b"]


@pytest.mark.parametrize(
    ("stem", "known", "service"),
    [
        ("shop", ["shop", "edge"], "shop"),
        ("shop-1", ["shop", "shop-1x"], "shop"),
        ("shop_service", ["shop", "edge"], "shop"),
        ("app", ["shop"], "shop"),
        ("error-log", ["shop"], "shop"),
        ("app", ["shop", "edge"], ""),
        ("edge", ["shop"], "edge"),
        ("shopping", ["shop"], "shopping"),
    ],
)
def test_whose_log_a_file_is(stem: str, known: list[str], service: str) -> None:
    assert service_of_file(stem, known) == service
