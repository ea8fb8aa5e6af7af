"""Block Kit as data: which block and element may hold what, with Slack's numbers.

Numbers: https://docs.slack.dev/reference/block-kit (blocks, block-elements, composition objects), July 2026.
`MESSAGE` and `VIEW` say which blocks a surface takes; `alert` is for views only (slackapi/node-slack-sdk #2567).
"""

from typing import Any

from bot.slack.schema import (
    Fault,
    Rule,
    anything,
    array,
    boolean,
    by_type,
    fault,
    integer,
    one_of,
    optional,
    record,
    required,
    string,
    url,
)

_ID = optional(string(255))


def _typed(**fields: tuple[Rule, bool]) -> dict[str, tuple[Rule, bool]]:
    return {"type": required(anything), **fields}


def _block(**fields: tuple[Rule, bool]) -> dict[str, tuple[Rule, bool]]:
    return _typed(block_id=_ID, **fields)


def _element(**fields: tuple[Rule, bool]) -> dict[str, tuple[Rule, bool]]:
    return _typed(action_id=_ID, **fields)


def plain(most: int, least: int = 1) -> Rule:
    return by_type({"plain_text": record(_typed(text=required(string(most, least)), emoji=optional(boolean)))})


def mrkdwn(most: int) -> Rule:
    return by_type({"mrkdwn": record(_typed(text=required(string(most)), verbatim=optional(boolean)))})


def any_text(most: int) -> Rule:
    plain_rule, mrkdwn_rule = plain(most), mrkdwn(most)
    return by_type({"plain_text": plain_rule, "mrkdwn": mrkdwn_rule})


_CONFIRM = record(
    {
        "title": required(plain(100)),
        "text": required(any_text(300)),
        "confirm": required(plain(30)),
        "deny": required(plain(30)),
        "style": optional(one_of("primary", "danger")),
    }
)
_OPTION = record(
    {
        "text": required(any_text(75)),
        "value": required(string(150)),
        "description": optional(any_text(75)),
        "url": optional(url()),
    }
)
_GROUP = record({"label": required(plain(75)), "options": required(array(_OPTION, most=100))})
_DISPATCH = record({"trigger_actions_on": optional(array(one_of("on_enter_pressed", "on_character_entered")))})
_IMAGE_FIELDS = {
    "image_url": optional(url()),
    "slack_file": optional(record({"id": optional(string()), "url": optional(url())})),
    "alt_text": required(string(2000)),
}
_IMAGE_ELEMENT = record(_typed(**_IMAGE_FIELDS), one_required=("image_url", "slack_file"))
_BUTTON = record(
    _element(
        text=required(plain(75)),
        url=optional(url()),
        value=optional(string(2000)),
        style=optional(one_of("primary", "danger")),
        confirm=optional(_CONFIRM),
        accessibility_label=optional(string(75)),
    )
)
_OVERFLOW = record(_element(options=required(array(_OPTION, most=5)), confirm=optional(_CONFIRM)))
_PLACE = {"placeholder": optional(plain(150)), "focus_on_load": optional(boolean)}
_ASK = {**_PLACE, "confirm": optional(_CONFIRM)}
_STATIC = {
    "options": optional(array(_OPTION, most=100)),
    "option_groups": optional(array(_GROUP, most=100)),
}
_MANY = {"max_selected_items": optional(integer(1))}
_FILTER = {"filter": optional(anything), "default_to_current_conversation": optional(boolean)}
_URLISH = {"response_url_enabled": optional(boolean)}


def _selects() -> dict[str, Rule]:
    static = record(_element(**_ASK, **_STATIC, initial_option=optional(_OPTION)), one_required=tuple(_STATIC))
    many = record(
        _element(**_ASK, **_STATIC, **_MANY, initial_options=optional(array(_OPTION, most=100))),
        one_required=tuple(_STATIC),
    )
    queried = {"min_query_length": optional(integer(0))}
    return {
        "static_select": static,
        "multi_static_select": many,
        "external_select": record(_element(**_ASK, **queried, initial_option=optional(_OPTION))),
        "multi_external_select": record(
            _element(**_ASK, **_MANY, **queried, initial_options=optional(array(_OPTION, most=100)))
        ),
        "users_select": record(_element(**_ASK, initial_user=optional(string()))),
        "multi_users_select": record(_element(**_ASK, **_MANY, initial_users=optional(array(string())))),
        "conversations_select": record(_element(**_ASK, **_FILTER, **_URLISH, initial_conversation=optional(string()))),
        "multi_conversations_select": record(
            _element(**_ASK, **_FILTER, **_MANY, initial_conversations=optional(array(string())))
        ),
        "channels_select": record(_element(**_ASK, **_URLISH, initial_channel=optional(string()))),
        "multi_channels_select": record(_element(**_ASK, **_MANY, initial_channels=optional(array(string())))),
    }


def _pickers() -> dict[str, Rule]:
    chosen = {
        "options": required(array(_OPTION, most=10)),
        "confirm": optional(_CONFIRM),
        "focus_on_load": optional(boolean),
    }
    return {
        "datepicker": record(_element(**_ASK, initial_date=optional(string(10)))),
        "timepicker": record(_element(**_ASK, initial_time=optional(string(5)), timezone=optional(string()))),
        "datetimepicker": record(
            _element(
                initial_date_time=optional(integer(0)), confirm=optional(_CONFIRM), focus_on_load=optional(boolean)
            )
        ),
        "checkboxes": record(_element(**chosen, initial_options=optional(array(_OPTION, most=10)))),
        "radio_buttons": record(_element(**chosen, initial_option=optional(_OPTION))),
    }


def _inputs() -> dict[str, Rule]:
    typed = {**_PLACE, "dispatch_action_config": optional(_DISPATCH), "initial_value": optional(string(3000, 0))}
    number = {**typed, "min_value": optional(string()), "max_value": optional(string())}
    return {
        "plain_text_input": record(
            _element(
                **typed,
                multiline=optional(boolean),
                min_length=optional(integer(0, 3000)),
                max_length=optional(integer(1, 3000)),
            )
        ),
        "email_text_input": record(_element(**typed)),
        "url_text_input": record(_element(**typed)),
        "number_input": record(_element(**number, is_decimal_allowed=required(boolean))),
        "file_input": record(_element(filetypes=optional(array(string())), max_files=optional(integer(1, 10)))),
        "rich_text_input": record(
            _element(**_PLACE, dispatch_action_config=optional(_DISPATCH), initial_value=optional(anything))
        ),
    }


_INTERACTIVE: dict[str, Rule] = {"button": _BUTTON, "overflow": _OVERFLOW, **_selects(), **_pickers()}
_INTERACTIVE["workflow_button"] = record(
    _element(
        text=required(plain(75)),
        workflow=required(anything),
        style=optional(one_of("primary", "danger")),
        accessibility_label=optional(string(75)),
    )
)

_STYLE = optional(
    record({name: optional(boolean) for name in ("bold", "italic", "strike", "code", "underline", "highlight")})
)
_RICH_TEXT: dict[str, Rule] = {
    "text": record(_typed(text=required(string()), style=_STYLE)),
    "link": record(_typed(url=required(url()), text=optional(string()), unsafe=optional(boolean), style=_STYLE)),
}
_RICH_INLINE: dict[str, Rule] = {
    **_RICH_TEXT,
    "emoji": record(_typed(name=required(string()), unicode=optional(string()), style=_STYLE)),
    "user": record(_typed(user_id=required(string()), style=_STYLE)),
    "usergroup": record(_typed(usergroup_id=required(string()), style=_STYLE)),
    "channel": record(_typed(channel_id=required(string()), style=_STYLE)),
    "broadcast": record(_typed(range=required(one_of("here", "channel", "everyone")), style=_STYLE)),
    "color": record(_typed(value=required(string()), style=_STYLE)),
    "date": record(
        _typed(
            timestamp=required(integer(0)),
            format=required(string()),
            url=optional(url()),
            fallback=optional(string()),
            style=_STYLE,
        )
    ),
}
_RICH_SECTION = record(_typed(elements=required(array(by_type(_RICH_INLINE)))))
_RICH_PARTS: dict[str, Rule] = {
    "rich_text_section": _RICH_SECTION,
    "rich_text_quote": record(_typed(elements=required(array(by_type(_RICH_INLINE))), border=optional(integer(0, 1)))),
    "rich_text_preformatted": record(
        _typed(
            elements=required(array(by_type(_RICH_TEXT))), border=optional(integer(0, 1)), language=optional(string())
        )
    ),
    "rich_text_list": record(
        _typed(
            style=required(one_of("bullet", "ordered")),
            elements=required(array(by_type({"rich_text_section": _RICH_SECTION}))),
            indent=optional(integer(0, 8)),
            offset=optional(integer(0)),
            border=optional(integer(0, 1)),
        )
    ),
}
_RICH_BLOCK = record(_block(elements=required(array(by_type(_RICH_PARTS)))))

_FEEDBACK_BUTTON = record(
    {
        "text": required(plain(75)),
        "value": required(string(2000)),
        "accessibility_label": optional(string(75)),
    }
)
_CONTEXT_ACTIONS: dict[str, Rule] = {
    "feedback_buttons": record(
        _element(positive_button=required(_FEEDBACK_BUTTON), negative_button=required(_FEEDBACK_BUTTON))
    ),
    "icon_button": record(
        _element(
            icon=required(string()),
            text=required(plain(75)),
            value=optional(string(2000)),
            confirm=optional(_CONFIRM),
            accessibility_label=optional(string(75)),
            visible_to_user_ids=optional(array(string())),
        )
    ),
}
_CELL = by_type(
    {
        "raw_text": record(_typed(text=required(string(None, 0)))),
        "raw_number": record(_typed(value=required(anything), text=optional(string()))),
        "rich_text": _RICH_BLOCK,
    }
)
_COLUMN = record({"align": optional(one_of("left", "center", "right")), "is_wrapped": optional(boolean)})
_CARD_FIELDS = {
    "title": optional(any_text(150)),
    "subtitle": optional(any_text(150)),
    "body": optional(any_text(200)),
    "icon": optional(_IMAGE_ELEMENT),
    "hero_image": optional(_IMAGE_ELEMENT),
    "actions": optional(array(by_type({"button": _BUTTON}), most=3)),
}
_CARD = record(_block(**_CARD_FIELDS), one_required=("title", "body", "hero_image"))
_TASK = record(
    _block(
        task_id=required(string()),
        title=required(string()),
        status=optional(one_of("in_progress", "complete", "error")),
        details=optional(anything),
        output=optional(anything),
        sources=optional(anything),
    )
)
_SECTION = record(
    _block(
        text=optional(any_text(3000)),
        fields=optional(array(any_text(2000), most=10)),
        accessory=optional(by_type({**_INTERACTIVE, "image": _IMAGE_ELEMENT})),
        expand=optional(boolean),
    ),
    one_required=("text", "fields"),
)
_CHILDREN: dict[str, Rule] = {
    "section": _SECTION,
    "divider": record(_block()),
    "header": record(_block(text=required(plain(150)), level=optional(integer(1, 6)))),
    "context": record(
        _block(
            elements=required(
                array(by_type({"image": _IMAGE_ELEMENT, "plain_text": plain(2000), "mrkdwn": mrkdwn(2000)}), most=10)
            )
        )
    ),
    "actions": record(_block(elements=required(array(by_type(_INTERACTIVE), most=25)))),
    "context_actions": record(_block(elements=required(array(by_type(_CONTEXT_ACTIONS), most=5)))),
    "image": record(_block(**_IMAGE_FIELDS, title=optional(plain(2000))), one_required=("image_url", "slack_file")),
    "rich_text": _RICH_BLOCK,
    "table": record(
        _block(
            rows=required(array(array(_CELL, most=20), most=100)),
            column_settings=optional(array(_COLUMN, least=0, most=20)),
        )
    ),
    "video": record(
        _block(
            title=required(plain(200)),
            video_url=required(url()),
            thumbnail_url=required(url()),
            alt_text=required(string(2000)),
            author_name=optional(string(50)),
            description=optional(plain(200)),
            provider_name=optional(string()),
            provider_icon_url=optional(url()),
            title_url=optional(url()),
        )
    ),
    "file": record(_block(external_id=required(string()), source=required(one_of("remote")))),
}
MESSAGE: dict[str, Rule] = {
    **_CHILDREN,
    "markdown": record(_block(text=required(string(12_000)))),
    "card": _CARD,
    "carousel": record(_block(elements=required(array(by_type({"card": _CARD}), most=10)))),
    "container": record(
        _block(
            title=required(plain(150)),
            subtitle=optional(plain(150)),
            icon=optional(_IMAGE_ELEMENT),
            child_blocks=required(array(by_type(_CHILDREN), most=10)),
            is_collapsible=optional(boolean),
            is_collapsed=optional(boolean),
            width=optional(string()),
        )
    ),
    "task_card": _TASK,
    "plan": record(_block(title=required(string()), tasks=optional(array(anything, most=50)))),
    "data_table": record(
        _block(
            rows=required(array(array(_CELL, most=20), least=2, most=201)),
            caption=optional(string()),
            page_size=optional(integer(1, 100)),
            column_settings=optional(array(anything, least=0, most=20)),
        )
    ),
    "data_visualization": record(_block(title=optional(anything), chart=optional(anything), data=optional(anything))),
}
_INPUT = record(
    _block(
        label=required(plain(2000)),
        element=required(by_type({**_inputs(), **_selects(), **_pickers()})),
        hint=optional(plain(2000)),
        optional=optional(boolean),
        dispatch_action=optional(boolean),
    )
)
VIEW: dict[str, Rule] = {
    **_CHILDREN,
    "input": _INPUT,
    "alert": record(
        _block(text=required(any_text(200)), level=optional(one_of("default", "info", "warning", "error", "success")))
    ),
}
_MODAL_FIELDS = {
    "type": required(one_of("modal", "home")),
    "title": optional(plain(24)),
    "submit": optional(plain(24)),
    "close": optional(plain(24)),
    "private_metadata": optional(string(3000, 0)),
    "callback_id": optional(string(255)),
    "external_id": optional(string(255)),
    "clear_on_close": optional(boolean),
    "notify_on_close": optional(boolean),
    "submit_disabled": optional(boolean),
    "blocks": required(anything),
}
VIEW_FIELDS: Rule = record(_MODAL_FIELDS)


def modal(view: Any, pointer: str, faults: list[Fault]) -> None:
    """A view's own fields; a modal must have a title, and `submit` when it holds inputs."""
    VIEW_FIELDS(view, pointer, faults)
    if isinstance(view, dict) and view.get("type") == "modal":
        inputs = any(isinstance(b, dict) and b.get("type") == "input" for b in view.get("blocks") or [])
        for name in ("title", "submit") if inputs else ("title",):
            if name not in view:
                faults.append(fault("missing_required_field", f"missing required field: {name}", f"{pointer}/{name}"))
