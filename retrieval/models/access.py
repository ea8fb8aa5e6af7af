"""How a provider is reached."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Access:
    """`base_url` "" is the provider's own; the key is in no repr. `folder` holds recorded answers."""

    name: str
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    timeout_s: float = 20.0
    folder: Path | None = None
