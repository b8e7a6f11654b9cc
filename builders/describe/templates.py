"""Card bodies: found beside the package in a checkout and inside it in a wheel, rendered with jinja2.

A dataset's body opens with a block of YAML between two lines of dashes: the facts that the card's metadata
and Croissant need too, so that each stands in one place.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Literal

import yaml
from jinja2 import Environment, FunctionLoader, StrictUndefined
from pydantic import ValidationError

from builders.describe.markdown import Markdown, code, escape, link, table
from builders.errors import UsageError
from builders.lock.lock import Frozen, first_fault
from builders.printable import share

_MARK = "---\n"
_Creator = Literal["found", "crowdsourced", "expert-generated", "machine-generated", "other"]
_Task = Literal[
    "document-retrieval",
    "entity-linking-retrieval",
    "fact-checking-retrieval",
    "utterance-retrieval",
    "semantic-similarity-scoring",
    "topic-classification",
]


class About(Frozen):
    """What a dataset's card body states for machines; plain text, no Markdown.

    Attributes:
        collection: How the data was collected.
        annotation: How relevance was decided.
        uses: What the dataset is for; `misuses`: what it is not for.
        personal: Personal or sensitive information.
        citation: BibTeX of the upstream; empty where there is none.
    """

    annotations_creators: tuple[_Creator | Literal["no-annotation"], ...]
    language_creators: tuple[_Creator, ...]
    task_ids: tuple[_Task, ...]
    collection: str
    annotation: str
    biases: tuple[str, ...]
    uses: tuple[str, ...]
    misuses: tuple[str, ...]
    personal: str
    impact: str
    citation: str = ""


def about(dataset: str) -> About:
    """Return the facts at the top of a dataset's card body.

    Raises:
        UsageError: They are malformed.
    """
    name = f"{dataset}.md.j2"
    head, _ = _split(name)
    try:
        return About.model_validate(yaml.safe_load(head))
    except ValidationError as error:
        lacking = [str(one["loc"][0]) for one in error.errors() if one["type"] == "missing"]
        fault = f"they lack {', '.join(lacking)}" if lacking else first_fault(error)
    except yaml.YAMLError as error:
        fault = str(error)
    raise UsageError(
        f"cards/{name}: the facts at its top are malformed: {fault}",
        hint="See the card body of another dataset for what they are.",
    )


def render_template(name: str, **values: object) -> str:
    """Render a template of `cards/`; every value is escaped unless it is `Markdown`."""
    return _environment().get_template(name).render(**values)


def card_text(name: str) -> str | None:
    """Return a text of `cards/`, or None where there is none."""
    package = resources.files("builders")
    inside = package / "_cards"
    path = (inside if inside.is_dir() else package / ".." / "cards") / name
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _split(name: str) -> tuple[str, str]:
    text = card_text(name)
    if text is None:
        raise UsageError(f"cards/{name} is missing", hint="Every dataset needs a card body; write one there.")
    if not text.startswith(_MARK):
        return "", text
    head, _, body = text.removeprefix(_MARK).partition(f"\n{_MARK}")
    return head, body


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(lambda name: _split(name)[1]),
        undefined=StrictUndefined,
        finalize=escape,
        autoescape=False,  # the output is Markdown: `finalize` escapes
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.update(code=code, link=link, share=share, table=table, raw=Markdown)
    return environment
