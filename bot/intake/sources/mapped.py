"""Any sender whose body is JSON: a mapping of paths, from the settings, says where things are."""

import re
from collections.abc import Mapping
from typing import Any

from bot.intake.sources.base import MAX_REJECTED, Unreadable, label_hash, raw, read_json, text, time_ns
from bot.settings import Mapped
from retrieval.model import Alert, AlertBatch

_STEP = re.compile(r"([^.\[\]]+)|\[(\d{1,6})\]")


class MappedSource:
    """`status` absent = firing; no start time = 0, which the intake replaces by the time of receipt."""

    def __init__(self, name: str, mapping: Mapped) -> None:
        self.name = name
        self._mapping = mapping
        self._over = {word.casefold() for word in mapping.resolved}

    def parse(self, body: bytes, headers: Mapping[str, str]) -> AlertBatch:
        value = read_json(body)
        alerts, rejected = [], []
        for number, item in enumerate(self._items(value)):
            try:
                alerts.append(self._alert(item, f"alert {number + 1}"))
            except Unreadable as error:
                rejected.append((raw(item), error.reason))
        return AlertBatch(source=self.name, alerts=tuple(alerts), rejected=tuple(rejected[:MAX_REJECTED]))

    def _items(self, value: Any) -> list[Any]:
        if isinstance(value, list):
            return value
        if not isinstance(value, dict):
            raise Unreadable("the body is neither a map nor a list")
        found: list[Any] | None = find(value, self._mapping.alerts, (list,))
        return [value] if found is None else found

    def _alert(self, item: Any, where: str) -> Alert:
        paths = self._mapping
        if not isinstance(item, dict):
            raise Unreadable(f"{where}: a map was expected")
        name = text(find(item, paths.name), f"{where}: name")
        if not name:
            raise Unreadable(f"{where}: no name under {paths.name}")
        labels = self._labels(item, where)
        status = text(find(item, paths.status), f"{where}: status").casefold()
        over = status in self._over
        summary = text(find(item, paths.summary), f"{where}: summary")
        return Alert(
            source=self.name,
            fingerprint=text(find(item, paths.fingerprint), f"{where}: fingerprint")
            or label_hash({**labels, "alertname": name}),
            name=name,
            status="resolved" if over else "firing",
            starts_ns=time_ns(find(item, paths.starts), f"{where}: start"),
            ends_ns=time_ns(find(item, paths.ends), f"{where}: end") or None if over else None,
            labels={"alertname": name, **labels},
            annotations={"summary": summary} if summary else {},
            generator_url=text(find(item, paths.url), f"{where}: url"),
        )

    def _labels(self, item: dict[str, Any], where: str) -> dict[str, str]:
        """The flat entries of the label map, then the labels that are named one by one; a list of "key:value" tags
        counts as a map."""
        found = find(item, self._mapping.labels, (dict, list))
        if isinstance(found, list):
            found = dict(tag.split(":", 1) for tag in found if isinstance(tag, str) and ":" in tag)
        flat = found if isinstance(found, dict) else {}
        labels = {
            text(key, where): text(value, where)
            for key, value in list(flat.items())[:256]
            if isinstance(value, str | int | float)
        }
        for key, path in sorted(self._mapping.label.items()):
            if (value := find(item, path)) is not None:
                labels.setdefault(key, text(value, where))
        return labels


def find(value: Any, paths: str, wanted: tuple[type, ...] = (str, int, float)) -> Any:
    """What the first of the `|`-separated paths leads to that leads to a value of a wanted type; None: none does."""
    for path in paths.split("|"):
        found = value
        for key, index in _STEP.findall(path.strip()):
            found = _step(found, key, index)
        if isinstance(found, wanted) and path.strip():
            return found
    return None


def _step(value: Any, key: str, index: str) -> Any:
    if key:
        return value.get(key) if isinstance(value, dict) else None
    return value[int(index)] if isinstance(value, list) and int(index) < len(value) else None
