"""Environment fingerprints: a document each, which begins with what differs from the baseline (rows A1, A8)."""

from collections.abc import Iterator, Sequence

from retrieval.kinds.base import Kind, Material, kept, restoring
from retrieval.model import Document, EnvironmentDelta, EnvironmentFingerprint, environment_delta

_FIELDS = ("os", "arch", "kernel", "locale", "timezone", "interpreter", "lock_digest", "image_digest")
_LISTED = 200


def documents(material: Material) -> Iterator[Document]:
    everything = material.sources.environments
    for number, one in enumerate(everything):
        differs = differences(one, everything)
        yield material.document(
            "environment",
            (one, differs),
            title=f"environment of {one.run_id or one.service or 'a run'}{' (baseline)' if one.baseline else ''}",
            text="\n".join([*(_delta(d) for d in differs[:_LISTED]), *_told(one)]) or "nothing told",
            time_ns=one.time_ns,
            service=one.service,
            keys={
                "run_id": one.run_id,
                "commit_sha": one.commit_sha,
                "image_digest": one.image_digest,
                "workspace_digest": one.workspace_digest,
            },
            source=str(one.source),
            attributes={"delta": [[d.what, d.before, d.after] for d in differs], **kept([(number, one)])},
        )


def differences(
    one: EnvironmentFingerprint, everything: Sequence[EnvironmentFingerprint]
) -> tuple[EnvironmentDelta, ...]:
    """What an environment differs in from the last baseline of its service, else from the last of no service."""
    if one.baseline:
        return ()
    fitting = [e for e in everything if e.baseline and e.service in (one.service, "")]
    if not fitting:
        return ()
    return environment_delta(max(fitting, key=lambda e: (e.service != "", e.time_ns, str(e.source))), one)


def _delta(delta: EnvironmentDelta) -> str:
    return f"differs: {delta.what} {delta.before or '(absent)'} -> {delta.after or '(absent)'}"


def _told(one: EnvironmentFingerprint) -> list[str]:
    lines = [f"{name} {getattr(one, name)}" for name in _FIELDS if getattr(one, name)]
    for name in ("seeds", "variables", "packages"):
        held = getattr(one, name)
        if held:
            lines.append(f"{name}: " + ", ".join(f"{k}={v}" for k, v in sorted(held.items())[:_LISTED]))
    return lines


KIND = Kind("environment", documents, restoring("environments", EnvironmentFingerprint), timeless=True)
