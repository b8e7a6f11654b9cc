"""Gender forms of German job titles, reduced to the masculine one: "Koch/Köchin", "Fahrer*in", "KochIn"."""

import re

_LONGEST_PAIR = 16  # words on either side of the slash
_FOLDED = str.maketrans("äöüè", "aoue")
_OTHER_ENDINGS = (("mann", "frau"), ("er", "e"), ("eur", "euse"), ("ier", "iere"), ("ard", "ardess"))
_TOKEN = re.compile(r"[^\s/,;()]+|[/,;()]")
_CONNECTORS = frozenset({"/", "oder", "und", "bzw."})

# "Fahrer/in", "Fahrer/-in", "Fahrer*in", "Fahrer(in)", "Fahrer/innen", "Kaufmann/-frau", "Beauftragte/r".
_SHORT = re.compile(
    r"([^\W\d_]{2,40})(?:(?: ?/ ?-|[/*:_·•])(innen|in|frau|mann|r)(?![^\W_])|\(-?(innen|in|frau|mann|r)\))"
)
_SHORT_AFTER_BRACKET = re.compile(r"(?<=\))[/*:_]-?in(?:nen)?(?![^\W_])")
# Stems whose masculine form is more than the stem: "Psycholog*in", "Ärzt*in".
_STEMS = dict(
    pair.split(":")
    for pair in "log:loge gog:goge päd:päde beamt:beamter expert:experte kund:kunde kolleg:kollege "
    "gehilf:gehilfe bot:bote ärzt:arzt anwält:anwalt köch:koch bäuer:bauer".split()
)
# What a word for a person ends in: "Fahrerin" is one, "Medizin", "Berlin" and "LinkedIn" are not.
_PERSON = (
    r"(?:er|or|ist|[aeg]nt|and|eur|[aeo]t|gra(?:f|ph)|soph|nom|wirt|chef|koch|arzt|anwalt|bauer|peut|zeut|är|urg|coach|"
    + "|".join(_STEMS)
    + ")"
)
_CAPITAL = re.compile(rf"((?i:{_PERSON}))In(nen)?(?![^\W_])")
_FEMININE = re.compile(rf"({_PERSON})in(?:nen)?(?![^\W_])")
_OTHER_FEMININE = re.compile(r"(?<=[^\W\d_]{2})(frau|euse|ardess)(?![^\W_])")
_OTHER_MASCULINE = {"frau": "mann", "euse": "eur", "ardess": "ard"}


def without_paired_forms(title: str) -> str:
    """Reduce paired gender forms of a title, case-folded and white space folded, to the masculine form.

    White space around slashes, commas and brackets is made uniform.
    """
    shortened = _SHORT_AFTER_BRACKET.sub("", _SHORT.sub(_masculine_of_short, title))
    return _joined(_unpaired(_TOKEN.findall(shortened)))


def with_slash(title: str) -> str:
    """Write a capital I inside a word as a slash: "KochIn" becomes "Koch/in"."""
    return _CAPITAL.sub(r"\1/in\2", title)


def without_feminine_forms(title: str) -> str:
    """Reduce every feminine form of a case-folded title to the masculine one, with or without its partner.

    Coarser than a title's meaning allows where the two differ; good enough to say what may be a twin.
    """
    masculine = _FEMININE.sub(lambda match: _STEMS.get(match[1], match[1]), title)
    return _OTHER_FEMININE.sub(lambda match: _OTHER_MASCULINE[match[1]], masculine)


def _is_pair(masculine: str, feminine: str) -> bool:
    """Say whether two case-folded words are the masculine and the feminine form of one.

    Covers -in ("Fahrerin", "Köchin", "Psychologin", "Beamtin"), -innen, -frau, French endings and the
    declension of adjectives ("geprüfter", "geprüfte").
    """
    m, f = masculine.translate(_FOLDED), feminine.translate(_FOLDED)
    stems = {m, m.removesuffix("e"), m.removesuffix("er")} if len(m) > 3 else {m}
    endings = {stem + ending for stem in stems for ending in ("in", "innen")}
    return f in endings or any(
        m.endswith(ending) and f == m.removesuffix(ending) + other and len(m) > 4
        for ending, other in _OTHER_ENDINGS
    )


def _masculine_of_short(match: re.Match[str]) -> str:
    stem, ending = match[1], match[2] or match[3]
    if ending == "r":
        return f"{stem}r" if stem.endswith("e") else match[0]
    if ending == "frau":
        return stem if stem.endswith("mann") else match[0]
    if ending == "mann":
        return stem.removesuffix("frau") + "mann" if stem.endswith("frau") else match[0]
    for short, whole in _STEMS.items():
        if stem.endswith(short):
            return stem.removesuffix(short) + whole
    return stem


def _unpaired(tokens: list[str]) -> list[str]:
    """Drop the second phrase of every "phrase / phrase" whose words pair one by one."""
    kept: list[str] = []
    position = 0
    while position < len(tokens):
        length = _pair_length(kept, tokens, position) if tokens[position] in _CONNECTORS else 0
        if length:
            pairs = zip(kept[-length:], tokens[position + 1 : position + 1 + length], strict=True)
            kept[-length:] = [one if one == other or _is_pair(one, other) else other for one, other in pairs]
            position += 1 + length
        else:
            kept.append(tokens[position])
            position += 1
    return kept


def _pair_length(before: list[str], tokens: list[str], position: int) -> int:
    """Return how many words around the connector pair, 0 for none."""
    for length in range(1, min(len(before), len(tokens) - position - 1, _LONGEST_PAIR) + 1):
        pairs = list(zip(before[-length:], tokens[position + 1 : position + 1 + length], strict=True))
        if not all(left == right or _is_pair(left, right) or _is_pair(right, left) for left, right in pairs):
            continue
        if tokens[position] == "/" or any(left != right for left, right in pairs):
            return length
    return 0


def _joined(tokens: list[str]) -> str:
    text = " ".join(tokens)
    return re.sub(r" ([,;)])", r"\1", text.replace(" / ", "/").replace("( ", "("))
