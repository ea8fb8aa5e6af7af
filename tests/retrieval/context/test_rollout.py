"""What ran at the onset, and what before."""

from retrieval.context.rollout import find_rollout
from retrieval.model import Rollout
from tests.retrieval.context.scene import alert, deploy, onset

A, B, C = "a" * 40, "b" * 40, "c" * 40


def rollout(*deploys: object, **labels: str) -> Rollout:
    return find_rollout(deploys, onset(-5), [alert(**labels)])  # type: ignore[arg-type]


def test_the_last_deploy_before_the_onset_is_current() -> None:
    found = rollout(deploy(-900, A), deploy(-20, B, previous_sha=A), deploy(0, C), deploy(-30, C, "other"))
    assert (found.current["shop"].git_sha, found.previous["shop"].git_sha) == (B, A)
    assert found.current["other"].git_sha == C and "other" not in found.previous


def test_without_a_named_predecessor_the_row_before_is_previous() -> None:
    found = rollout(deploy(-20, B), deploy(-900, A))
    assert (found.current["shop"].git_sha, found.previous["shop"].git_sha) == (B, A)


def test_a_named_predecessor_without_a_row_is_known_by_its_commit() -> None:
    found = rollout(deploy(-20, B, previous_sha=A))
    assert (found.previous["shop"].git_sha, found.previous["shop"].started_ns) == (A, 0)


def test_steps_of_one_rollout_share_their_predecessor() -> None:
    found = rollout(deploy(-900, A), deploy(-40, B, percent=5.0), deploy(-20, B[:12], percent=25.0, previous_sha=B))
    assert found.current["shop"].percent == 25.0 and found.previous["shop"].git_sha == A


def test_a_rollout_that_never_finished_is_current() -> None:
    assert rollout(deploy(-900, A, finished_ns=1), deploy(-6, B)).current["shop"].git_sha == B


def test_only_the_alerts_region_and_environment_count_where_they_are_told() -> None:
    rows = [
        deploy(-900, A, region="eu", environment="production"),
        deploy(-10, B, region="us", environment="production"),
        deploy(-9, C, region="eu", environment="staging"),
    ]
    found = rollout(*rows, region="eu", environment="production")
    assert found.current["shop"].git_sha == A
    assert rollout(*rows, region="us").current["shop"].git_sha == B
    assert rollout(*rows, region="mars").current["shop"].git_sha == C
    assert rollout(*rows, env="staging").current["shop"].git_sha == C
    assert rollout(deploy(-9, C), *rows, region="eu", environment="production").current["shop"].git_sha == C


def test_clocks_of_the_deploy_system_may_lag_a_little() -> None:
    assert rollout(deploy(-900, A), deploy(-4.5, B)).current["shop"].git_sha == B
    assert rollout(deploy(-900, A), deploy(-3.5, B)).current["shop"].git_sha == A
    assert rollout() == Rollout()
