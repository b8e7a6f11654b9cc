"""From submissions to the texts of documents and sets: cleaned, normalised, without personal data.

Reddit's Markdown is a dialect of its own, and a library for Markdown reads `2*3*4` and `Leser*innen und
Hörer*innen` as emphasis. So what is mark-up here is taken away in passes of linear time.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from builders.lock.lock import PersonalReport
from builders.prepare.retrieval import scrubbed
from builders.reddit.folder import COMPARABLE, SetShare
from builders.reddit.submission import Status, Submission
from builders.spec import Ids, PersonalKind
from builders.tables import CLUSTERING, SCHEMAS, Kind
from builders.text.normalise import each, normalise_frame

_UNKNOWN = "unknown"
"""The reason of an id that nobody has asked about."""
_NO_TITLE = "no_title"
"""The reason of a submission whose title is empty once it is cleaned."""
_MOST_PASSES = 8
_LONGEST_TITLE = 300
_NO_WIDTH = re.compile("[\u00ad\u200b\u200c\u2060\ufeff]+")
_NO_WIDTH_ENTITY = re.compile("&(?:#[xX]200[bB]|#8203|ZeroWidthSpace);")
_ESCAPE = re.compile(r"\\+(?=[!-/:-@\[-`{-~])")
_TICKS = re.compile("`+")
_FENCE = re.compile(r"(?m)^[ \t]*+(?:`{3,}|~{3,})[\w+#.-]*[ \t]*$")
_SPOILER = re.compile(">!|!<")
_RULE = re.compile(r"[ \t]*+(?:[*_=-][*_=\t -]+|(?=[^|]*\|)[|: \t-]+)")
"""A line of a table, or between parts of a text, that says nothing."""
_LINE_START = re.compile(r"\A[ \t]*+(?:>[ \t]*|#{1,6}[ \t]+|[-*+•][ \t]+)*")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]")
_SUPERSCRIPT = re.compile(r"(?<![\w)\]])\^+(?=[\w(])")
_SLASH = "[/\u2044\u2215\uff0f]"
_USER = re.compile(
    rf"(?:(?<![\w/]){_SLASH})?(?<!\w)"
    rf"(?:u{_SLASH}{{1,2}}|user{_SLASH}(?!(?:in|innen)\b)|[rR]{_SLASH}[uU]_)"
    r"(?:[A-Za-z0-9_-]{2,}|\[deleted\])"
)
"""Of `user/in` and `user/innen` none is a name; `r/u_NAME` is where a user posts to himself."""
_URL = re.compile(r"<?(?:(?:https?|ftp)://|(?<![\w.@-])www\.(?=\w))[^\s<>\"„“”|^`{}\[\]]+>?", re.IGNORECASE)
_AFTER_URL = frozenset(".,;:!?'’*_…–\"")
_AROUND_URL = frozenset({"()", "**", "__", "~~"})
_DELIMITER = re.compile(r"\*+|_+|~{2,}|\n[ \t]*+\n")
_BRACKET = re.compile(r"[()\[\]]|\n[ \t]*+\n|\n")
_BLANKS = re.compile(r"[ \t]+")
_BLANK_LINES = re.compile(r"\n{3,}")
_IMAGE_KINDS = frozenset({"gif", "img", "video", "image"})
_MARKS = re.compile(r"[^\w\s]|_")


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of submissions.

    Attributes:
        documents: ``id``, ``s2s`` (the title), ``p2p`` (title, space, body; without a body the title).
        dropped: ``id``, ``reason`` of submissions that are there and have no text.
        personal: What was replaced.
    """

    documents: pl.DataFrame
    dropped: pl.DataFrame
    personal: PersonalReport


def texts_of(spec: Ids, submissions: Iterable[Submission]) -> Texts:
    """Turn submissions, in any order, into documents; those that are not there are passed over."""
    raw = pl.DataFrame(
        [(entry.id, entry.title, entry.body) for entry in submissions if entry.status is Status.OK],
        schema={"upstream_id": pl.String, "title": pl.String, "text": pl.String},
        orient="row",
    )
    cleaned = raw.with_columns(each(raw[name], spec.clean) for name in ("title", "text"))
    clean, personal = scrubbed(normalise_frame(cleaned, keep=["upstream_id"]), spec.personal)
    body = pl.when(pl.col("text").is_not_null()).then(pl.format(" {}", "text")).otherwise(pl.lit(""))
    return Texts(
        documents=clean.drop_nulls("title").select(
            id="upstream_id", s2s="title", p2p=pl.concat_str("title", body)
        ),
        dropped=clean.filter(pl.col("title").is_null()).select(id="upstream_id", reason=pl.lit(_NO_TITLE)),
        personal=personal,
    )


def fill_sets(
    published: pl.DataFrame, texts: Texts, known: pl.DataFrame, *, level: str
) -> tuple[dict[Kind, pl.DataFrame], tuple[SetShare, ...]]:
    """Put texts in the place of ids.

    Args:
        published: ``submission_ids``, ``labels``: lists of str, one row per set.
        texts: Of the submissions that are there.
        known: ``id``, ``status`` str of all that are known.
        level: What the labels are.

    Returns:
        ``sentences``, ``labels``, ``level`` by kind, row by row the same documents: one row per set of which
        two labels are left. And what is left of every set.
    """
    members = (
        published
        .with_row_index("set", offset=1)
        .rename({"submission_ids": "id", "labels": "label"})
        .explode("id", "label")
        .join(texts.documents, on="id", how="left", maintain_order="left")
        .join(texts.dropped, on="id", how="left", maintain_order="left")
        .join(known.select("id", "status"), on="id", how="left", maintain_order="left")
        .with_columns(reason=pl.coalesce("reason", "status").fill_null(_UNKNOWN))
    )
    usable = members.drop_nulls("s2s").filter(pl.col("label").n_unique().over("set") > 1)
    sets = usable.group_by("set", maintain_order=True).agg("s2s", "p2p", "label")
    tables = {
        kind: sets.select(sentences=variant, labels="label", level=pl.lit(level)).cast(
            pl.Schema(SCHEMAS[kind])
        )
        for variant, kind in CLUSTERING.items()
    }
    return tables, tuple(map(_share, members.partition_by("set", maintain_order=True)))


def _share(members: pl.DataFrame) -> SetShare:
    left = members.drop_nulls("s2s")
    gone = members.filter(pl.col("s2s").is_null()).group_by("reason").len().sort("reason")
    share = left.height / members.height
    return SetShare(
        number=members.item(0, "set"),
        published=members.height,
        there=left.height,
        share=share,
        comparable=share >= COMPARABLE,
        left_out=left["label"].n_unique() < 2,
        gone=dict(gone.iter_rows()),
    )


def clean(text: str) -> str:
    """Return Markdown, a hostile one included, as plain text; a second call changes nothing.

    Links keep their text, images their description; addresses are removed with all that belongs to them.
    Other marks go and their text stays, cells of tables apart by ``|``. Names of users, as in ``u/NAME``,
    ``/user/NAME`` or ``r/u_NAME``, become ``<HANDLE>``; names of subreddits stay. What is removed can bring
    marks together to a new one, so the passes are repeated until nothing changes; of a text that is built so
    that this takes long, all marks are removed. Entities but zero-width spaces stay for `normalise`.
    """
    for _ in range(_MOST_PASSES):
        cleaned = _cleaned(text)
        if cleaned == text:
            return text
        text = cleaned
    return _tidied(_MARKS.sub(" ", text))


def _cleaned(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _NO_WIDTH_ENTITY.sub(" ", _NO_WIDTH.sub("", text))
    text = _ESCAPE.sub("", _without_links(text))
    text = _USER.sub(PersonalKind.HANDLE.placeholder, _without_urls(text))
    text = _TICKS.sub("", _FENCE.sub("", text))
    text = _without(text, _spoilers(text))
    text = "\n".join(_line(line) for line in text.split("\n") if not _RULE.fullmatch(line))
    text = _SUPERSCRIPT.sub("", _without(text, _emphasis(text)))
    return _tidied(text)


def _tidied(text: str) -> str:
    lines = (_BLANKS.sub(" ", line).strip(" \t") for line in text.split("\n"))
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()


def _line(line: str) -> str:
    """Take away what begins a quote, a heading, a list's item or a table's row."""
    if _HEADING.match(line):
        line = line.rstrip(" \t#")
    line = _LINE_START.sub("", line)
    return line.strip(" \t|") if line.startswith("|") else line


def _without_links(text: str) -> str:
    """Reduce ``[text](address)`` to its text; brackets in it and parentheses in the address are balanced."""
    partners = _partners(text)
    removed: list[tuple[int, int]] = []
    opened: list[int] = []
    done = 0
    for match in _BRACKET.finditer(text):
        at = match.start()
        if at < done or _escaped(text, at):
            continue
        if match[0] == "[":
            opened.append(at)
        elif match[0][0] == "\n":
            if len(match[0]) > 1:
                opened.clear()
        elif match[0] == "]" and opened:
            start, end = opened.pop(), partners.get(at + 1)
            if end is None:
                continue
            image = start > 0 and text[start - 1] == "!"
            dropped = image and text[start + 1 : at].strip().lower() in _IMAGE_KINDS
            removed.append((start - image, at if dropped else start + 1))
            removed.append((at, end + 1))
            done = end + 1
    return _without(text, removed)


def _partners(text: str) -> dict[int, int]:
    """Return where an address in parentheses ends, by where it begins: on one line, perhaps with a title."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for match in _BRACKET.finditer(text):
        at = match.start()
        if match[0][0] == "\n":
            opened.clear()
        elif match[0] in "()" and not _escaped(text, at):
            if match[0] == "(":
                opened.append(at)
            elif opened:
                found[opened.pop()] = at
    blanks = [match.start() for match in re.finditer(r"\s", text)] + [len(text)]
    return {
        start: end
        for start, end in found.items()
        if _is_address(text, blanks[bisect_right(blanks, start)], end)
    }


def _is_address(text: str, blank: int, end: int) -> bool:
    """Say whether nothing but a title stands between the first blank of an address and its end."""
    tail = text[blank : min(end, blank + _LONGEST_TITLE)].strip()
    titled = end - blank < _LONGEST_TITLE and len(tail) > 1 and tail[0] == tail[-1] and tail[0] in "\"'"
    return blank >= end or not tail or titled


def _without_urls(text: str) -> str:
    """Remove addresses, the marks around one, and the blank before one that ends a sentence."""
    removed = []
    for match in _URL.finditer(text):
        start, end = match.start(), match.end()
        if text[end - 1] == ">" and text[start] != "<":
            end -= 1
        if text[start] != "<" or text[end - 1] != ">":
            start += text[start] == "<"
            end = start + _length(text[start:end])
        while text[start - 1 : start] + text[end : end + 1] in _AROUND_URL:
            start, end = start - 1, end + 1
        if text[start - 1 : start] in {" ", "\t"} and not text[end : end + 1].isalnum():
            start -= 1
        removed.append((start, end))
    return _without(text, removed)


def _length(address: str) -> int:
    """How much of what looks like an address is one: a mark or a parenthesis after it belongs to the text."""
    unbalanced = address.count(")") - address.count("(")
    end = len(address)
    while end:
        if address.endswith("~~", 0, end):
            end -= 1
        elif address[end - 1] == ")" and unbalanced > 0:
            unbalanced -= 1
        elif address[end - 1] not in _AFTER_URL:
            break
        end -= 1
    return end


def _spoilers(text: str) -> Iterator[tuple[int, int]]:
    """Yield where marks of spoilers stand that belong together."""
    opened = None
    for match in _SPOILER.finditer(text):
        if match[0] == ">!":
            opened = match.span() if opened is None else opened
        elif opened is not None:
            yield opened
            yield match.span()
            opened = None


def _emphasis(text: str) -> Iterator[tuple[int, int]]:
    """Yield where marks of emphasis stand that belong together.

    One opens where no letter and no digit stands before it, so that ``2*3*4``, ``snake_case`` and
    ``Leser*innen`` stay; a paragraph's end closes none.
    """
    opened: dict[str, list[tuple[int, int]]] = {"*": [], "_": [], "~": []}
    for match in _DELIMITER.finditer(text):
        start, end = match.span()
        mark = text[start]
        if mark == "\n":
            for stack in opened.values():
                stack.clear()
            continue
        before, after = text[start - 1 : start] if start else "", text[end : end + 1]
        ends_word = not after.isalnum() or (end - start > 1 and mark != "_")
        closes = before != "" and not before.isspace() and ends_word
        stack = opened[mark]
        while closes and stack and start < end:
            left, right = stack.pop()
            length = min(right - left, end - start)
            yield right - length, right
            yield start, start + length
            start += length
            if right - length > left:
                stack.append((left, right - length))
        if start < end and not before.isalnum() and after != "" and not after.isspace():
            stack.append((start, end))


def _escaped(text: str, at: int) -> bool:
    return at > 0 and text[at - 1] == "\\"


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return the text without some spans, which may overlap."""
    kept = []
    end = 0
    for (_, last), (start, _) in pairwise([(0, 0), *sorted(spans), (len(text), len(text))]):
        end = max(end, last)
        kept.append(text[end:start])
    return "".join(kept)
