"""The language model that settings name, behind its gateway; None where none is named."""

from pathlib import Path

from bot.metrics import Metrics
from bot.settings import Settings, duration_ns
from retrieval.model import Reply
from retrieval.models import Access, Answers, Gateway, Limits, open_model
from retrieval.ports import Clock


async def gateway_of(settings: Settings, clock: Clock, answers: Path | None, metrics: Metrics | None = None) -> Gateway:
    """The configured model; `answers` is where its answers are kept unless `model.answers` names another folder.

    Raises: ModelUnavailable, with the remedy.
    """
    model = settings.model
    folder = Path(model.answers) if model.answers else answers
    deadline_s = duration_ns(model.deadline) / 1e9
    access = Access(model.name, model.base_url, model.api_key.get_secret_value(), deadline_s, folder)
    opened = await open_model(model.provider, access)

    def observe(reply: Reply) -> None:
        if metrics is not None:
            metrics.add("receipts_model_replies_total", {"outcome": reply.outcome.value})
            metrics.add("receipts_model_tokens_total", {}, reply.tokens)

    return Gateway(opened, clock, Answers(folder), Limits(deadline_s=deadline_s), observe)
