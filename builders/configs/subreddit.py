"""Reddit submissions in German, clustered by subreddit: ids and labels alone are published."""

from functools import partial

from builders.reddit.dated_ledger import is_stand_in
from builders.reddit.sets import read_ids as read_file
from builders.reddit.texts import clean
from builders.spec import ALL_KINDS, Files, Grouped, HttpSource, Ids, IdsFile, LocalFile, Scored

LIST = "submission_ids.txt"
LEDGER = "subreddit.ledger.tsv"
_ARCHIVES: dict[str, str] = {}
"""Dumps of Reddit by their sha256, with the name under which each is known. A line here is a maintainer's
word that the file is an archive of Reddit, and not made by hand; there is none yet."""
COMMIT = "75e180b184fa6e14128936dc2b15f1e6b3ecd6de"


def read(files: Files) -> IdsFile:
    """Read the upstream's list of ids, of which some stand there several times."""
    (path,) = files[LIST]
    return read_file(path)


CONFIG = Ids(
    name="subreddit",
    release="tecb-de",
    title="Subreddits: German submissions on Reddit by subreddit, as ids",
    licence="cc-by-4.0",
    languages=("deu",),
    listed=HttpSource(
        name=LIST,
        url=f"https://raw.githubusercontent.com/ClimSocAna/tecb-de/{COMMIT}/reddit_data/{LIST}",
        sha256="169ab31e7628fda1d53551f9e6334c73ec430347d6caa4a35ac08d64baf8c6ef",
        size=353_400,
        licence="mit",
    ),
    ledger=LocalFile(
        name=LEDGER,
        folder="reddit",
        hint="Run `mteb-de hydrate subreddit`, which writes the ledger there: with praw_client_id, "
        "praw_client_secret and praw_user_agent of a Reddit app, or from dumps of Reddit with --dump FILE.",
        is_stand_in=partial(is_stand_in, archives=_ARCHIVES),
    ),
    read=read,
    sets=(Grouped(level="subreddit", label="subreddit"),),
    clean=clean,
    personal=ALL_KINDS,
    archives=_ARCHIVES,
    scored=Scored(
        {"clustering-s2s": "RedditClusteringS2S(de)", "clustering-p2p": "RedditClusteringP2P(de)"},
        tolerance=0.041,
    ),
    notes=(
        "Submissions vanish, so sets that were fetched on different days differ. Below 90 percent of a set, "
        "scores are not comparable.",
        "Ids that stand several times in the upstream's list are taken once. Published scores were made from "
        "the submissions that were there at the time, so they are near these and not equal.",
        "Sets overlap: all of them are drawn from the same subreddits.",
        "A dump shows submissions as they were when it was made, and later deletions only after a recheck.",
    ),
)
