"""A Slack workspace of our own: a real HTTP server that plays Slack's Web API for the demo and the tests.

It keeps state and answers from it, as Slack does: a message that was not posted cannot be edited, an upload must have
its announced length, a trigger works once and for three seconds. It is not Slack: what Slack really accepts is known
only to Slack. It is strict where Slack is lax (an argument nobody knows is an error), so that a typing mistake shows.

    state      channels, messages, files, views, what was called; durable in one JSON file
    methods    the Web API, a function a method
    strictness blocks and arguments checked a second time, not by the bot's own validator
    server     HTTP and websocket around it, rate limits, planned faults
    people     the user's side: signed slash commands, presses, submissions, mentions

`python -m bot.demo.workspace --port 0 --state FILE` runs it as a process of its own.
"""
