"""The values that the Hub allows in a card: its client accepts anything, its server refuses the commit."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from builders.errors import UsageError

_CREATORS = frozenset("found crowdsourced expert-generated machine-generated other".split())
_SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
    (100_000_000, "10M<n<100M"),
    (1_000_000_000, "100M<n<1B"),
    (10_000_000_000, "1B<n<10B"),
    (100_000_000_000, "10B<n<100B"),
    (1_000_000_000_000, "100B<n<1T"),
)
_LARGEST = "n>1T"
_LANGUAGES = frozenset(
    """
    aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv
    dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie
    ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv
    mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm
    rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts
    tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
    """.split()
)
ALLOWED: Mapping[str, frozenset[str]] = {
    "license": frozenset("cc0-1.0 cc-by-4.0 cc-by-sa-4.0 cc-by-nc-4.0 cc-by-nc-sa-4.0 mit other".split()),
    "language": _LANGUAGES,
    "annotations_creators": _CREATORS | {"no-annotation"},
    "language_creators": _CREATORS,
    "multilinguality": frozenset("monolingual multilingual translation other".split()),
    "size_categories": frozenset(name for _, name in _SIZES) | {_LARGEST},
    "task_categories": frozenset(
        "text-retrieval text-ranking text-classification sentence-similarity".split()
    ),
    "task_ids": frozenset(
        "document-retrieval entity-linking-retrieval fact-checking-retrieval utterance-retrieval "
        "semantic-similarity-scoring topic-classification".split()
    ),
}
"""What we allow by field: the Hub's values as far as a benchmark of texts can need them."""


def size_category(rows: int) -> str:
    """Return the Hub's size class of a dataset with that many rows."""
    return next((name for limit, name in _SIZES if rows < limit), _LARGEST)


def check_enums(metadata: Mapping[str, object]) -> None:
    """Refuse a card's metadata that the Hub would refuse.

    Args:
        metadata: The card's front matter; fields without a fixed set of values are not looked at.

    Raises:
        UsageError: A value is not allowed; the nearest one that is gets suggested.
    """
    for field, allowed in ALLOWED.items():
        value = metadata.get(field, [])
        for item in value if isinstance(value, list | tuple) else [value]:
            if not isinstance(item, str) or item not in allowed:
                near = difflib.get_close_matches(str(item), allowed, n=1)
                hint = f"Did you mean {near[0]}?" if near else f"Allowed: {', '.join(sorted(allowed))}."
                raise UsageError(f"dataset card: {field} cannot be {item!r}", hint=hint)
