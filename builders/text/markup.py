"""Text out of the HTML of an article: linear in its length, whatever stands there.

The standard library's parser takes hours for a hostile page of one megabyte. This reader knows just enough:
tags, comments, and elements whose content is no text. Entities stay: normalising unescapes them once.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

# The first form is a tag with quoted attributes, in which ">" may stand; no form crosses a "<".
_TAG = re.compile(
    r"""<(/?)([a-zA-Z][a-zA-Z0-9]*+)((?:[^<>"']|"[^<"]*+"|'[^<']*+')*+)>|<(?:[!?/a-zA-Z])[^<>]*+>"""
)
_ATTRIBUTE = re.compile(r"""(?<![\w:-])([a-zA-Z][\w:-]*+)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++))""")
_NO_TEXT = frozenset({"script", "style", "noscript", "template"})
_BLOCKS = frozenset(
    "address article aside blockquote br div h1 h2 h3 h4 h5 h6 hr li ol p table td th tr ul".split()
)


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag as it stands; a tag that closes has no attributes."""

    name: str
    closes: bool
    attributes: dict[str, str] = field(default_factory=dict)

    @property
    def classes(self) -> list[str]:
        """The names in its attribute `class`."""
        return self.attributes.get("class", "").split()


def tokens(html: str) -> Iterator[Tag | str]:
    """Yield tags and the raw text between them; comments, and what scripts and styles hold, are left out."""
    silent = ""
    end = 0
    markup = _without_comments(html)
    for match in _TAG.finditer(markup):
        if match.start() > end and not silent:
            yield markup[end : match.start()]
        end = match.end()
        slash, name, attributes = match.groups()
        if name is None:
            continue
        name = name.lower()
        if silent:
            silent = "" if slash and name == silent else silent
        elif name in _NO_TEXT and not slash:
            silent = name
        else:
            yield Tag(name, bool(slash), {} if slash else _attributes(attributes))
    if end < len(markup) and not silent:
        yield markup[end:]


def paragraphs(html: str, *, within: str) -> list[str]:
    """Return the raw texts of all ``p`` inside the first ``div`` of a class, entities as they stand.

    A paragraph ends where it is closed, where another begins, or with the ``div``.
    """
    found: list[list[str]] = []
    inside = False
    for token in _within(html, "div", lambda tag: within in tag.classes) or ():
        if isinstance(token, Tag) and token.name == "p":
            inside = not token.closes
            if inside:
                found.append([])
        elif inside:
            found[-1].append(_text(token))
    return ["".join(parts) for parts in found]


def element_text(html: str, name: str, **attributes: str) -> str | None:
    """Return the raw text of the first element of a name with these attributes, None where there is none."""
    inner = _within(html, name, lambda tag: attributes.items() <= tag.attributes.items())
    return None if inner is None else "".join(map(_text, inner))


def _within(html: str, name: str, wanted: Callable[[Tag], bool]) -> Iterator[Tag | str] | None:
    """Return what stands inside the first element of a name that is wanted, None where there is none."""
    rest = tokens(html)
    for token in rest:
        if isinstance(token, Tag) and token.name == name and not token.closes and wanted(token):
            return _to_end(rest, name)
    return None


def _to_end(rest: Iterator[Tag | str], name: str) -> Iterator[Tag | str]:
    depth = 1
    for token in rest:
        if isinstance(token, Tag) and token.name == name:
            depth += -1 if token.closes else 1
            if depth == 0:
                return
        else:
            yield token


def _text(token: Tag | str) -> str:
    """Return a text as it stands, and a space for what separates words."""
    return token if isinstance(token, str) else " " * (token.name in _BLOCKS)


def _attributes(text: str) -> dict[str, str]:
    return {
        match[1].lower(): next(value for value in match.groups()[1:] if value is not None)
        for match in _ATTRIBUTE.finditer(text)
    }


def _without_comments(html: str) -> str:
    """Take comments out in one pass: where ``<!--`` opens twice before it is closed, the first one counts."""
    first, *rest = html.split("<!--")
    return first + "".join(part.partition("-->")[2] for part in rest)
