"""Made-up submissions: a list of ids, a dump that holds most of them, and the dated ledger that follows."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from builders import files
from builders.configs.subreddit import LEDGER, LIST
from builders.demo.bundled import CHECKED, DUMP
from builders.reddit.dated_ledger import statuses, write_statuses
from builders.reddit.dump import archive_of
from builders.reddit.submission import Status, Submission, submission

PER_SUBREDDIT = 7
PLACES = ("", "_Nord", "_Sued")
"""Each topic has so many subreddits, so that sets of few and of many labels can be drawn."""
MISSING = 9
_SEED = 1
_REPEATED = 12
_SLOTS = {
    "ort": ("Lindau", "Görlitz", "Husum", "Steyr", "Wismar", "Fulda", "Krems", "Jena"),
    "zahl": ("2", "3", "4", "6", "8", "12"),
    "tag": ("Montag", "Dienstag", "Donnerstag"),
}
Post = dict[str, Any]
_CHANGES: tuple[tuple[int, Callable[[Post], Post]], ...] = (
    (24, lambda post: post),
    (3, lambda post: post | {"selftext": ""}),
    (
        3,
        lambda post: (
            post | {"selftext": f"{post['selftext']}\n\nQuelle: [hier](https://verlag.example/a_(b))"}
        ),
    ),
    (2, lambda post: post | {"selftext": f"**Danke** an u/hilft_gern_42! {post['selftext']}"}),
    (2, lambda post: post | {"selftext": f"{post['selftext']} Fragen an hanna@beispiel.example &amp; Co"}),
    (1, lambda post: post | {"title": "https://verlag.example/nur-ein-link"}),
    (2, lambda post: post | {"selftext": "[removed]", "removed_by_category": "moderator"}),
    (2, lambda post: post | {"selftext": "[deleted]", "author": "[deleted]"}),
)
"""What happens to submissions, with how often it does: the last two are gone."""


def make(folder: Path) -> None:
    """Write the list of ids, the dump and the dated ledger into a folder.

    Raises:
        StorageError: The folder cannot be written.
    """
    rng = random.Random(_SEED)
    made = posts(rng)
    listed = ids(made, rng)
    files.write_bytes(folder / LIST, "".join(f"{line}\n" for line in ["id", *listed]).encode())
    files.write_bytes(folder / DUMP, dump(made))
    write_statuses(folder / LEDGER, statuses(_answers(made, listed, archive_of(folder / DUMP))))


def posts(rng: random.Random) -> list[Post]:
    """Return submissions as a dump has them, some of them removed or deleted.

    Args:
        rng: Decides everything; the same state gives the same submissions.
    """
    pieces = _pieces()
    topics = sorted({label for label, _ in pieces})
    kinds = [(topic, place) for topic in topics for place in PLACES for _ in range(PER_SUBREDDIT)]
    rng.shuffle(kinds)
    made = [_post(number, topic, place, pieces, rng) for number, (topic, place) in enumerate(kinds)]
    of_a_user = _post(len(made), topics[0], "", pieces, rng) | {"subreddit": "u_hilft_gern_42"}
    return [*made, of_a_user]


def ids(made: list[Post], rng: random.Random) -> list[str]:
    """Return the list of ids: those of submissions, of others that there never were, and repeats."""
    listed = [post["id"] for post in made] + [f"leer{number:03}" for number in range(MISSING)]
    listed += rng.sample(listed, _REPEATED)
    rng.shuffle(listed)
    return listed


def dump(made: list[Post]) -> bytes:
    """Return the dump: one line of JSON per submission, compressed; equal submissions give equal bytes."""
    import zstandard

    lines = "".join(json.dumps(post, ensure_ascii=False, sort_keys=True) + "\n" for post in made)
    return zstandard.ZstdCompressor(level=3).compress(lines.encode())


def _answers(made: list[Post], listed: list[str], archive: str) -> list[Submission]:
    found = {post["id"]: submission(post, origin="dump", checked=CHECKED) for post in made}
    absent = sorted(set(listed) - found.keys())
    answers = [
        *found.values(),
        *(Submission(id=name, status=Status.MISSING, checked=CHECKED, origin="dump") for name in absent),
    ]
    return [answer.model_copy(update={"archive": archive}) for answer in answers]


def _pieces() -> dict[tuple[str, str], list[str]]:
    text = (Path(__file__).parent / "posts.tsv").read_text(encoding="utf-8")
    pieces: dict[tuple[str, str], list[str]] = {}
    for row in csv.DictReader(text.splitlines(), delimiter="\t"):
        pieces.setdefault((row["label"], row["part"]), []).append(row["text"])
    return pieces


def _post(
    number: int, topic: str, place: str, pieces: dict[tuple[str, str], list[str]], rng: random.Random
) -> Post:
    (change,) = rng.choices([change for _, change in _CHANGES], [weight for weight, _ in _CHANGES])
    sentences = rng.sample(pieces[topic, "body"], rng.randint(2, 3))
    post = {
        "id": f"demo{number:03}",
        "subreddit": f"{topic}{place}",
        "author": f"nutzer_{rng.randint(100, 999)}",
        "title": _filled(rng.choice(pieces[topic, "title"]), rng),
        "selftext": _filled(" ".join(sentences), rng),
        "is_self": True,
    }
    return change(post)


def _filled(template: str, rng: random.Random) -> str:
    return template.format_map({name: rng.choice(values) for name, values in _SLOTS.items()})
