"""Templates, rendered with jinja2: cards by their name, those of a room by their path in the package.

Cards lie beside the package in a checkout and inside it in a wheel. A dataset's body opens with a block of
YAML between two lines of dashes: the facts that the card's metadata and Croissant need too.
"""

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import Literal

import yaml
from jinja2 import ChoiceLoader, Environment, FunctionLoader, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import ValidationError

from builders.describe.markdown import Markdown, code, escape, link, table
from builders.errors import UsageError
from builders.lock.lock import Frozen, first_fault
from builders.printable import counted, percent, share

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
    """The facts of a dataset's card body; plain text, no Markdown.

    `collection` is how the data was collected, `annotation` how relevance was decided, and `citation` the
    BibTeX of the upstream, empty where there is none.
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
    try:
        return About.model_validate(yaml.safe_load(_split(name)[0]))
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
    """Render a template in Markdown; every value is escaped unless it is `Markdown`."""
    return _environment(html=False).get_template(name).render(**values)


def render_page(name: str, *, script: str = "", images: bool = False, **values: object) -> str:
    """Render an HTML page that loads and sends nothing: it extends the template ``describe/page.html.j2``.

    Its content-security policy admits the style, which lies beside the template, and the script by their
    hashes, and with `images` those that their address holds. Every value is escaped unless it is `Markup`.
    """
    folder, paths = resources.files("builders"), (name.replace(".html.j2", ".css"), script)
    style, code = ((folder / path).read_text(encoding="utf-8") if path else "" for path in paths)
    admitted = [*(["img-src data:"] if images else []), *([f"script-src '{_hash(code)}'"] if code else [])]
    policy = Markup("; ".join([*admitted, f"style-src '{_hash(style)}'"]))
    template = _environment(html=True).get_template(name)
    return template.render(policy=policy, style=Markup(style), script=Markup(code), **values)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


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
def _environment(*, html: bool) -> Environment:
    cards = FunctionLoader(lambda name: None if "/" in name else _split(name)[1])
    environment = Environment(
        loader=ChoiceLoader([cards, PackageLoader("builders", "")]),
        undefined=StrictUndefined,
        finalize=None if html else escape,
        autoescape=html,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.update(
        code=code, counted=counted, link=link, percent=percent, raw=Markdown, share=share, table=table
    )
    return environment
