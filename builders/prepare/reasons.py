"""Why rows are not published, in words: the card and `explain` tell the same."""

from __future__ import annotations

from enum import StrEnum


class Space(StrEnum):
    """What the id of a dropped row names: ids of two spaces may be equal, and name different things."""

    UPSTREAM = "upstream"
    """A row of the upstream."""
    UPSTREAM_PAIR = "upstream pair"
    """Two rows of the upstream: "query → passage"."""
    PUBLISHED = "published"
    """A row that rows of the upstream had become; the provenance names them."""
    PLACE = "place"
    """Where a file of the upstream could not be read: "file:line"."""


ROWS = {
    "no_id": "the upstream row had no id",
    "empty_query": "the query had no text",
    "no_query_words": "nothing was left of the query but markers and reference numbers",
    "no_positive": "no relevant passage was left",
    "empty_text": "the passage had no text",
    "empty_profile": "neither an occupation nor a skill was known",
    "dangling": "an end of the pair is no row of the upstream",
    "excluded": "auditors found the pair not relevant, or differed",
    "row_dropped": "an end of the pair was dropped",
    "malformed": "the upstream could not be read there",
    "no_title": "the document had no title",
    "no_text": "the document had no text beside its title",
    "no_genre": "the book had no genre",
    "several_genres": "the book had more than one genre",
    "no_topic": "the book had no topic",
    "many_topics": "the book had more than two topics",
    "not_newsroom": "the page was not from the newsroom",
    "user_page": "the page was written by readers",
    "no_section": "the article's path named no section",
    "removed": "the submission had been removed by moderators or by Reddit",
    "deleted": "the submission had been deleted by who wrote it",
    "missing": "Reddit knew no submission of that id, or the dump had none",
    "no_subreddit": "it was not known where the submission stood, or that was a user's own profile",
}
"""By reason, as in `dropped.parquet` and the funnel."""
