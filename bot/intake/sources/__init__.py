"""Every alert source by name. A new one is a file here and a line in `registry`."""

from collections.abc import Mapping

from bot.intake.sources.alertmanager import Alertmanager
from bot.intake.sources.base import AlertSource, Unreadable
from bot.intake.sources.mapped import MappedSource
from bot.settings import Mapped

__all__ = ["AlertSource", "Unreadable", "registry"]


def registry(mapped: Mapping[str, Mapped] | None = None) -> dict[str, AlertSource]:
    """The sources with an adapter, `generic` (the default mapping), and those that the settings map. A mapping may take
    the name of an adapter: the settings win."""
    sources: dict[str, AlertSource] = {
        "alertmanager": Alertmanager(),
        "generic": MappedSource("generic", Mapped()),
    }
    sources |= {name: MappedSource(name, mapping) for name, mapping in sorted((mapped or {}).items())}
    return sources
