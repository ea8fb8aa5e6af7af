"""All that can be configured: one YAML file, each key also by environment, described once and checked at the start.

Nothing is read at import; `load` is given the file and the environment. The environment wins over the file.
"""

from bot.settings.loading import CONFIG_VARIABLE, PREFIX, Entry, load, reference
from bot.settings.model import INCIDENTS, AccessSettings, Alerts, Mapped, Service, Settings, duration_ns

__all__ = [
    "CONFIG_VARIABLE",
    "INCIDENTS",
    "PREFIX",
    "AccessSettings",
    "Alerts",
    "Entry",
    "Mapped",
    "Service",
    "Settings",
    "duration_ns",
    "load",
    "reference",
]
