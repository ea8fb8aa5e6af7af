"""Who owns a path, by the rules that GitHub documents."""

import pytest

from retrieval.code.owners import owners_of

RULES = """
# A comment
*                 @example/all
*.js              @js-owner #inline comment
*.go              docs@example.com
/build/logs/      @doctocat
docs/*            docs@example.com
apps/             @octocat
/docs/            @doctocat
/scripts/         @doctocat @octocat
**/logs           @logger
/apps/ @octocat
/apps/github
sp\\ ace/         @spacer
/deep/**/end.py   @deep
?.txt             @single
broken            not-an-owner
"""


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("README.md", ("@example/all",)),
        ("a/b/app.js", ("@js-owner",)),
        ("x.go", ("docs@example.com",)),
        ("build/logs/app.txt", ("@logger",)),
        ("other/build/logs.d/a", ("@example/all",)),
        ("lib/docs/getting-started.md", ("@example/all",)),
        ("docs/build-app/troubleshooting.md", ("@doctocat",)),
        ("nested/apps/x.py", ("@octocat",)),
        ("apps/github/x.py", ()),
        ("apps/other/x.py", ("@octocat",)),
        ("scripts/run.sh", ("@doctocat", "@octocat")),
        ("deeply/nested/logs", ("@logger",)),
        ("deeply/nested/logs/a/b", ("@logger",)),
        ("sp ace/x.py", ("@spacer",)),
        ("deep/end.py", ("@deep",)),
        ("deep/a/b/end.py", ("@deep",)),
        ("a.txt", ("@single",)),
        ("ab.txt", ("@example/all",)),
        ("broken", ("@example/all",)),
    ],
)
def test_the_last_rule_that_matches_counts(path: str, owners: tuple[str, ...]) -> None:
    assert owners_of(path, RULES) == owners
    assert owners_of("/" + path, RULES) == owners


def test_a_star_after_a_folder_does_not_reach_deeper() -> None:
    rules = "docs/* @docs\n"
    assert owners_of("docs/a.md", rules) == ("@docs",)
    assert owners_of("docs/deep/a.md", rules) == ()


def test_sections_give_their_owners_to_rules_without() -> None:
    rules = "[Money][2] @money/all\n/fees.py\n/split.py @money/split\n^[Docs]\n/guide.md\n"
    assert owners_of("fees.py", rules) == ("@money/all",)
    assert owners_of("split.py", rules) == ("@money/split",)
    assert owners_of("guide.md", rules) == ()


@pytest.mark.parametrize("rules", ["", "\n\n", "@only-an-owner", "(((( @x", "* " + "@a " * 3000, "[" * 500 + " @a"])
def test_odd_files_raise_nothing(rules: str) -> None:
    assert owners_of("a/b.py", rules) == ()
