"""Options of every command in Markdown, for the page of the command line on the site."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from typer.core import TyperGroup
from typer.main import get_command

from headcount.cli.execute import app


def command_reference() -> str:
    """Sections in Markdown, one per command."""
    return "\n".join(_sections(get_command(app), "headcount"))


def _sections(command: Any, path: str) -> Iterator[str]:
    if isinstance(command, TyperGroup):
        context = command.make_context(path, [], resilient_parsing=True)
        for name in command.list_commands(context):
            yield from _sections(command.get_command(context, name), f"{path} {name}")
        return
    shown = [each for each in command.params if not each.hidden and each.name != "help"]
    arguments = [_name(each) for each in shown if each.param_type_name == "argument"]
    usage = " ".join([path, *arguments, "[OPTIONS]"])
    text = " ".join(command.help.split())
    yield f"## {path}\n\n{text}\n\n```\n{usage}\n```\n"
    yield "| option | description |\n| --- | --- |"
    yield from (f"| {_names(each)} | {_description(each)} |" for each in shown)
    yield ""


def _name(parameter: Any) -> str:
    return parameter.metavar or parameter.name.upper()


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{_name(parameter)}`"
    return ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))


def _description(parameter: Any) -> str:
    text = " ".join((parameter.help or "").split()).replace("|", "\\|")
    text = re.sub(r"(?<!\S)(--[a-z-]+)", r"`\1`", text)
    if parameter.required:
        return f"{text} Required."
    default = parameter.default
    if default is None or isinstance(default, bool) or default == ():
        return text
    return f"{text} Default: `{default}`."
