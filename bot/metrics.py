"""Counters of our own, as Prometheus text (https://prometheus.io/docs/instrumenting/exposition_formats/).

Names and labels are ours, never a sender's: the number of series stays bounded.
"""

from collections.abc import Mapping

HELP = {
    "receipts_deliveries_total": "Webhook requests by source and outcome.",
    "receipts_alerts_total": "Alerts by what became of them.",
    "receipts_triages_total": "Triages by outcome.",
    "receipts_triage_seconds_total": "Seconds spent in triages that came to a conclusion.",
    "receipts_channel_calls_total": "Calls to the channel by kind and outcome.",
    "receipts_telemetry_records_total": "Records received over OTLP by signal and what became of them.",
    "receipts_http_requests_total": "HTTP requests by method, route and status.",
    "receipts_model_replies_total": "Questions to the language model by outcome.",
    "receipts_model_tokens_total": "Tokens that those answers cost, as the provider counts them, else estimated.",
    "receipts_internal_errors_total": "Errors that were not foreseen, by where.",
}


class Metrics:
    def __init__(self) -> None:
        self._values: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}

    def add(self, name: str, labels: Mapping[str, str], amount: float = 1) -> None:
        """Raises: KeyError for a name that has no entry in HELP."""
        HELP[name]
        key = (name, tuple(sorted(labels.items())))
        self._values[key] = self._values.get(key, 0) + amount

    def text(self) -> str:
        """All series, sorted, each metric with its help and type."""
        lines: list[str] = []
        seen = ""
        for (name, labels), value in sorted(self._values.items()):
            if name != seen:
                lines += [f"# HELP {name} {HELP[name]}", f"# TYPE {name} counter"]
                seen = name
            shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
            lines.append(f"{name}{{{shown}}} {value:g}" if shown else f"{name} {value:g}")
        return "\n".join([*lines, ""])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
