"""The API's description, made from the routes that are really served: what is not served is not described."""

import re
from collections.abc import Iterable
from typing import Any

ALERT_ANSWER = {
    "type": "object",
    "properties": {
        "delivery_id": {"type": "string"},
        "alerts": {"type": "integer", "description": "alerts that could be read"},
        "rejected": {"type": "integer", "description": "alerts that could not; kept and shown raw"},
    },
    "required": ["delivery_id", "alerts", "rejected"],
}
ERROR = {
    "type": "object",
    "properties": {"error": {"type": "string"}, "detail": {"type": "string"}},
    "required": ["error", "detail"],
}
STATUS = {
    "type": "object",
    "properties": {"code": {"type": "integer"}, "message": {"type": "string"}},
    "description": "google.rpc.Status, in the request's own encoding",
}
_JSON_ERRORS = {
    "400": "not what this endpoint takes; `detail` says why",
    "401": "no or wrong credentials",
    "404": "no such source or incident",
    "408": "the body did not arrive in time",
    "413": "the body is too large",
    "415": "neither a content type nor an encoding that is taken",
    "503": "not now; send it again after `Retry-After` seconds",
}
DESCRIBED: dict[tuple[str, str], dict[str, Any]] = {
    ("post", "/alerts/{source}"): {
        "summary": "Take one webhook of an alert sender; kept durably before it is answered.",
        "answers": {"202": ("kept", "application/json", ALERT_ANSWER)},
        "errors": ("400", "401", "404", "408", "413"),
        "body": True,
    },
    **{
        ("post", f"/v1/{signal}"): {
            "summary": f"Take OTLP {signal}, plain, gzip or deflate; kept durably before it is answered.",
            "answers": {"200": ("taken; `partialSuccess` counts what was not", "application/json", {"type": "object"})},
            "errors": ("400", "401", "408", "413", "415", "503"),
            "error": "Status",
            "body": True,
            "types": ("application/json", "application/x-protobuf"),
        }
        for signal in ("traces", "logs", "metrics")
    },
    ("post", "/slack/events"): {
        "summary": "Events, slash commands and interactions of Slack, signed by Slack.",
        "answers": {"200": ("acknowledged", "application/json", {})},
        "errors": ("401",),
        "body": True,
    },
    ("get", "/incidents/{incident_id}"): {
        "summary": "The page of one incident.",
        "answers": {"200": ("the page", "text/html", {"type": "string"})},
        "errors": ("401", "404"),
    },
    ("get", "/incidents/{incident_id}/bundle"): {
        "summary": "The debug bundle of the incident's latest conclusion.",
        "answers": {"200": ("a zip file", "application/zip", {"type": "string", "format": "binary"})},
        "errors": ("401", "404"),
    },
    ("get", "/healthz"): {
        "summary": "200 while the process can answer.",
        "answers": {"200": ("alive", "application/json", {"type": "object"})},
    },
    ("get", "/readyz"): {
        "summary": "200 while deliveries are taken and worked off, else 503.",
        "answers": {"200": ("ready", "application/json", {"type": "object"})},
    },
    ("get", "/metrics"): {
        "summary": "Counters as Prometheus text.",
        "answers": {"200": ("counters", "text/plain", {"type": "string"})},
    },
    ("get", "/openapi.json"): {
        "summary": "This document.",
        "answers": {"200": ("the document", "application/json", {"type": "object"})},
    },
}


def document(routes: Iterable[tuple[str, str]], version: str) -> dict[str, Any]:
    """OpenAPI 3.1 of the given (method, path) pairs.

    Raises: KeyError for a route that nobody described.
    """
    paths: dict[str, dict[str, Any]] = {}
    for method, path in sorted(routes):
        paths.setdefault(path, {})[method.lower()] = _operation(method.lower(), path)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Receipts", "version": version},
        "paths": paths,
        "components": {
            "schemas": {"Error": ERROR, "Status": STATUS},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "basic": {"type": "http", "scheme": "basic"},
            },
        },
    }


def _operation(method: str, path: str) -> dict[str, Any]:
    described = DESCRIBED[method, path]
    responses: dict[str, Any] = {
        status: {"description": text, "content": {kind: {"schema": schema}}}
        for status, (text, kind, schema) in described["answers"].items()
    }
    for status in described.get("errors", ()):
        schema = {"$ref": f"#/components/schemas/{described.get('error', 'Error')}"}
        content = {kind: {"schema": schema} for kind in _types(described)}
        responses[status] = {"description": _JSON_ERRORS[status], "content": content}
    operation: dict[str, Any] = {
        "summary": described["summary"],
        "operationId": re.sub(r"\W+", "_", f"{method}{path}").strip("_"),
        "responses": responses,
    }
    names = re.findall(r"{(\w+)}", path)
    if names:
        operation["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
        ]
    if described.get("body"):
        content = {kind: {"schema": {}} for kind in _types(described)}
        operation["requestBody"] = {"required": True, "content": content}
    if path == "/alerts/{source}" or path.startswith("/v1/"):
        operation["security"] = [{"bearer": []}, {"basic": []}]
    return operation


def _types(described: dict[str, Any]) -> tuple[str, ...]:
    return tuple(described.get("types", ("application/json",)))
