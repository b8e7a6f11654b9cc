"""Why rows are not published, in words: the card and `explain` tell the same."""

ROWS = {
    "empty_query": "the query had no text",
    "no_query_words": "nothing was left of the query but markers and reference numbers",
    "no_positive": "no relevant passage was left",
    "empty_text": "the passage had no text",
    "empty_profile": "neither an occupation nor a skill was known",
    "dangling": "an end of the pair is no row of the upstream",
    "row_dropped": "an end of the pair was dropped",
}
"""By reason, as in `dropped.parquet` and the funnel."""
