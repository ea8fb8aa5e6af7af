"""Slack: how an incident is told there, and what a person can ask from there.

    card       IncidentView -> Card: the lines to show, in words (pure; `templates/slack` holds the words)
    message    Card -> blocks; thread: the evidence, test, patch (pure)
    terminal   Card -> text; picture: blocks -> SVG (pure)
    limits     what Slack accepts (pure), over schema and blockkit
    text       makes foreign text harmless (pure)
    commands   the `/triage` grammar (pure)
    api        the wire: one call, mapped errors, retries; delivery: once, in place, paced
    app        Bolt listeners behind a gate; dialog: the modal for missing data

This package is the only one that imports `slack_sdk` and `slack_bolt`.
"""
