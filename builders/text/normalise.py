"""Normalising: NFC, entities unescaped once, white space folded, invisible characters removed."""

import html
import unicodedata
from collections.abc import Callable, Collection
from html.entities import html5

import polars as pl
import regex

# Only entities that end in a semicolon: the legacy form without one would turn "?a=1&copy=2" into "?a=1©=2".
ENTITY = regex.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")

# Controls but those that are white space, lone surrogates, and what has no width and no meaning in German
# text: soft hyphens, byte order marks, bidi overrides, fillers. Variation selectors stay, as parts of emoji.
INVISIBLE = regex.compile(
    r"""(?V1)
      [\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]
    | [\ud800-\udfff]
    | [\ufff9-\ufffb]
    | [\p{Default_Ignorable_Code_Point}--[\p{Variation_Selector}\u200d]]
    """,
    regex.VERBOSE,
)
# A joiner stays where it joins two symbols to one emoji.
JOINER = regex.compile(r"(?<![\p{So}\p{Sk}\ufe0f])\u200d|\u200d(?!\p{So})")
_TEXTS = (pl.String, pl.List(pl.String))


def normalise(text: str) -> str:
    """Return the text as it is compared, encoded and published.

    Controls, lone surrogates and invisible characters are removed and the rest composed to NFC; then entities
    are unescaped exactly once (``&amp;lt;`` becomes ``&lt;``), and what they stood for is cleaned as well.
    Every run of Unicode white space is folded to one space, and the ends are stripped. A second call changes
    nothing but entities that entities hid. The time is linear.
    """
    # First, since it can make an entity: "&am\u00adp;", or "&amp\u037e", whose last sign is ";" in NFC.
    cleaned = _cleaned(text)
    unescaped = ENTITY.sub(character, cleaned)
    return " ".join((cleaned if unescaped == cleaned else _cleaned(unescaped)).split())


def _cleaned(text: str) -> str:
    return unicodedata.normalize("NFC", JOINER.sub("", INVISIBLE.sub("", text)))


def character(entity: regex.Match[str]) -> str:
    """Return what a match of `ENTITY` stands for; the entity itself where it is none."""
    # Of a name that is none, html.unescape takes the beginning: "&region;" would become "®ion;".
    known = entity[0][1] == "#" or entity[0][1:] in html5
    return html.unescape(entity[0]) if known else entity[0]


def normalise_frame(frame: pl.DataFrame, *, keep: Collection[str]) -> pl.DataFrame:
    """Normalise every column of texts or of lists of texts.

    Each distinct text is normalised once. Columns of other types pass, and those named by `keep`: ids, URIs.
    A text of which nothing is left becomes null, in a list too, so that lists keep their length.
    """
    texts = [name for name, dtype in frame.schema.items() if dtype in _TEXTS and name not in keep]
    return frame.with_columns(_normalised(frame[name]) for name in texts)


def _normalised(series: pl.Series) -> pl.Series:
    is_list = series.dtype == pl.List(pl.String)
    raw = (series.explode() if is_list else series).drop_nulls().unique()
    clean = pl.Series([normalise(text) or None for text in raw.to_list()], dtype=pl.String)
    element = pl.element() if is_list else pl.col(series.name)
    replaced = element.replace_strict(raw, clean, default=None, return_dtype=pl.String)
    expression = pl.col(series.name).list.eval(replaced) if is_list else replaced
    return series.to_frame().select(expression).to_series()


def each(texts: pl.Series, function: Callable[[str], str]) -> pl.Series:
    """Apply a function of one text to a column, once per distinct text; nulls stay null."""
    distinct = texts.drop_nulls().unique()
    results = pl.Series([function(text) for text in distinct.to_list()], dtype=pl.String)
    return texts.replace_strict(distinct, results, default=None, return_dtype=pl.String)
