"""Any endpoint that speaks OpenAI's chat completions, by its own client and instructor; both come with the extra `llm`.

The answer's JSON schema is sent for the server to hold to, and what comes back is validated here whatever the server
promised. A server that refuses a parameter (a schema, `max_tokens`, a temperature) is asked again without it, and that
is remembered. instructor is never given `context`: it would run every message, evidence included, as a template.
"""

import asyncio
import importlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from retrieval.errors import ModelUnavailable, Reason
from retrieval.model import ModelOutcome, Question, Reply
from retrieval.models.access import Access
from retrieval.models.failures import Foreign, Refusal, charged, outcome_of, refused_parameter

REPAIRS = 1  # an answer of the wrong shape is sent back once, with what is wrong with it
RESENDS = 1  # by the client itself: 408, 409, 429, 5xx, lost connections
ADAPTATIONS = 4


@dataclass(frozen=True)
class Dialect:
    """What this endpoint takes; found out by being refused."""

    schema: str = "strict"  # strict | loose | none
    length: str = "max_tokens"
    temperature: bool = True

    def without(self, parameter: str) -> "Dialect | None":
        """The dialect that does without it; None when there is none left."""
        if parameter == "response_format" and self.schema != "none":
            return replace(self, schema="loose" if self.schema == "strict" else "none")
        if parameter == "max_tokens" and self.length == "max_tokens":
            return replace(self, length="max_completion_tokens")
        if parameter == "temperature" and self.temperature:
            return replace(self, temperature=False)
        return None


class OpenAICompatible:
    """`retrieval.ports.Model`; made by `open_provider`."""

    provider = "openai"

    def __init__(self, access: Access, openai: Any, instructor: Any, exceptions: Any) -> None:
        self.name = access.name
        self._instructor = instructor
        self._foreign = Foreign(openai, exceptions)
        self._client = openai.AsyncOpenAI(
            base_url=access.base_url or None,
            api_key=access.api_key,
            max_retries=RESENDS,
            timeout=access.timeout_s,
        )
        self._dialect = Dialect()

    async def ask(self, question: Question) -> Reply:
        for _ in range(ADAPTATIONS):
            try:
                return await self._once(question)
            except self._foreign.all as error:
                parameter = refused_parameter(error, self._foreign)
                dialect = self._dialect.without(parameter)
                if dialect is None:
                    return outcome_of(error, self._foreign, question)
                self._dialect = dialect
        return Reply(outcome=ModelOutcome.ERROR, reason="unsupported_parameters")

    async def probe(self) -> Reply:
        """Asks for the list of models, which costs nothing; an endpoint without one counts as reachable."""
        try:
            listed = await self._client.with_options(max_retries=0).models.list()
            names = {str(getattr(model, "id", "")) for model in listed.data or ()}
        except self._foreign.all as error:
            reply = outcome_of(error, self._foreign, None)
            known = reply.reason in ("status_404", "status_405")
            return Reply(outcome=ModelOutcome.ANSWERED) if known else reply
        if names and self.name not in names:
            return Reply(outcome=ModelOutcome.ERROR, reason="unknown_model")
        return Reply(outcome=ModelOutcome.ANSWERED)

    async def close(self) -> None:
        await self._client.close()

    async def _once(self, question: Question) -> Reply:
        modes = self._instructor.Mode
        dialect = self._dialect
        create = self._instructor.patch(
            create=self._checked, mode=modes.MD_JSON if dialect.schema == "none" else modes.JSON_SCHEMA
        )
        options: dict[str, Any] = {dialect.length: question.max_tokens}
        if dialect.temperature:
            options["temperature"] = 0
        affordable = 2 * question.estimate <= question.budget
        value = await create(
            model=self.name,
            messages=[{"role": "system", "content": question.system}, {"role": "user", "content": question.user}],
            response_model=question.shape,
            max_retries=REPAIRS if affordable else 0,
            **options,
        )
        plain = question.shape.model_validate(value.model_dump())  # without the response that instructor hangs on it
        return Reply(
            outcome=ModelOutcome.ANSWERED, value=plain, tokens=charged(getattr(value, "_total_usage", None), question)
        )

    async def _checked(self, *args: Any, **kwargs: Any) -> Any:
        """The call itself; a refusal ends it here, because instructor would ask for a repair."""
        if self._dialect.schema == "strict" and "json_schema" in kwargs.get("response_format", {}):
            kwargs["response_format"] = _strict(kwargs["response_format"])
        completion = await self._client.chat.completions.create(*args, **kwargs)
        choices = getattr(completion, "choices", None)
        if not choices or getattr(choices[0], "message", None) is None:
            raise ValueError("no choice in the completion")
        if getattr(choices[0].message, "refusal", None) or choices[0].finish_reason == "content_filter":
            raise Refusal
        return completion


def _strict(response_format: Mapping[str, Any]) -> dict[str, Any]:
    return {**response_format, "json_schema": {**response_format["json_schema"], "strict": True}}


async def open_provider(access: Access) -> OpenAICompatible:
    """Raises: ModelUnavailable where the extra is not installed or there is no key."""
    if not access.api_key:
        raise ModelUnavailable(
            "model.api_key is not set",
            reason=Reason.BAD_INPUT,
            subject="model.api_key",
            remedy="set RECEIPTS_MODEL__API_KEY; an endpoint of your own takes any",
        )
    try:
        packages = await asyncio.to_thread(_packages)  # a second of imports
    except ImportError as error:
        raise ModelUnavailable(
            f"the package {error.name} is not installed", subject="model.name", remedy="pip install '.[llm]'"
        ) from error
    # What they log of a failed answer is the answer itself.
    logging.getLogger("instructor").setLevel(logging.CRITICAL + 1)
    logging.getLogger("openai").setLevel(logging.WARNING)
    return OpenAICompatible(access, *packages)


def _packages() -> list[Any]:
    return [importlib.import_module(name) for name in ("openai", "instructor", "instructor.core.exceptions")]
