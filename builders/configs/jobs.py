"""German job postings: the title is the query, the posting's ESCO and KldB profile the passage."""

import polars as pl
import pyarrow as pa

from builders.configs._rows import refuse_repeated_ids, with_ids
from builders.sources.parquet import read_rows
from builders.spec import (
    ALL_KINDS,
    PAIR,
    EncoderSpec,
    Files,
    HubSource,
    Mining,
    Part,
    Records,
    Relations,
    Retrieval,
)
from builders.text.titles import leak_key, merge_key, relevance_key

_RARE_SHARE = 20  # a core seen with fewer than one in 20 postings of a group is undecided

_CONCEPT = pa.struct([("uri", pa.string()), ("label", pa.string())])
_COLUMNS = {
    "id": pa.string(),
    "title": pa.string(),
    "esco_occupation": _CONCEPT,
    "esco_skills": pa.list_(_CONCEPT),
    "region": pa.string(),
    "seniority": pa.string(),
    "kldb_2010": pa.string(),
}


def read(files: Files) -> Records:
    """Read postings: each is a query (its title), a passage (its profile) and the pair of both.

    The employer and the posting's own text are not read.
    """
    rows, nameless = with_ids(read_rows(files["postings"], _COLUMNS), "rows", "id")
    refuse_repeated_ids(rows, "id")
    occupation, skills = pl.col("esco_occupation").struct, pl.col("esco_skills").list
    passages = rows.select(
        upstream_id="id",
        occupation=occupation.field("label"),
        occupation_uri=occupation.field("uri"),
        skills=skills.eval(pl.element().struct.field("label")),
        skill_uris=skills.eval(pl.element().struct.field("uri")),
        region="region",
        seniority="seniority",
        kldb="kldb_2010",
    )
    queries = rows.select(upstream_id="id", text="title")
    pairs = rows.select(query="id", passage=pl.col("id").alias("passage"))
    return Records(queries, passages, pairs, nameless)


def compose(passages: pl.DataFrame) -> pl.DataFrame:
    """Compose profiles by the template, and their cores.

    ``{occupation}. Skills: {a}; {b}. Region: {region}. Seniority: {seniority}. KldB 2010: {code}.``, with
    missing parts and the seniority "unknown" left out, skills in upstream order.

    Args:
        passages: The passages of `read`, normalised.

    Returns:
        ``upstream_id`` str; ``title`` str, empty; ``text`` str, null without occupation and skills; ``core``
        str, equal for profiles of one occupation URI, set of skill URIs and KldB code; ``occupation`` str,
        the URI, or the label where there is none; ``extends`` bool, whether the core has skills; ``classes``
        list of str, its occupation URI and its KldB code.
    """
    skills, uris = pl.col("skills").list.drop_nulls(), pl.col("skill_uris").list.drop_nulls()
    labels = pl.when(skills.list.len() > 0).then(skills.list.join("; "))
    seniority = pl.col("seniority").replace("unknown", None)
    profile = pl.concat_str(
        pl.format("{}.", "occupation"),
        pl.format("Skills: {}.", labels),
        pl.format("Region: {}.", "region"),
        pl.format("Seniority: {}.", seniority),
        pl.format("KldB 2010: {}.", "kldb"),
        separator=" ",
        ignore_nulls=True,
    )
    skill_set = uris.list.unique().list.sort().list.join(" ")
    parts = pl.col("occupation_uri"), skill_set, pl.col("kldb")
    core = pl.concat_str([part.fill_null("") for part in parts], separator="|")
    return passages.select(
        "upstream_id",
        title=pl.lit(""),
        text=pl.when(pl.col("occupation").is_not_null() | labels.is_not_null()).then(profile),
        core=core,
        occupation=pl.coalesce("occupation_uri", "occupation"),
        extends=(uris.list.len() > 0).fill_null(value=False),
        classes=pl.concat_list(pl.format("esco {}", "occupation_uri"), pl.format("kldb {}", "kldb")),
    )


def relate(pairs: pl.DataFrame) -> Relations:
    """Relate queries to the profiles of their group's postings, and to those of the same cores.

    Relevant to a query is every profile observed with any query of its group, and every profile with the same
    core as one of those (marked as extended), if the core has skills. A core seen with fewer than 5 % of the
    postings of a group of 20 or more is undecided there, with all its profiles, but for those that another
    core makes relevant.

    Args:
        pairs: One row per posting: ``query_id``, ``passage_id``, ``group``, ``core`` str, ``extends`` bool,
            ``classes`` list of str; maybe ``confirmed`` bool: auditors found the pair relevant. It was not
            observed, so it does not count among the postings, and its core is never rare in its group.

    Returns:
        Relations, sorted by query and passage. A group without any frequent core has no positives. Passages
        of one occupation URI, and those of one KldB code, are a class.
    """
    if "confirmed" not in pairs.columns:
        pairs = pairs.with_columns(confirmed=pl.lit(value=False))
    posted, confirmed = (~pl.col("confirmed")).sum(), pl.col("confirmed").any()
    size, seen = posted.over("group"), posted.over("group", "core")
    # No core is rare in a group of fewer than 20: a single posting is 5 % of it.
    rare = (seen * _RARE_SHARE < size) & ~confirmed.over("group", "core")
    postings = pairs.with_columns(rare=rare)
    members = postings.filter("extends").select("core", "passage_id").unique()
    positives = _profiles(postings.filter(~pl.col("rare")), members)
    undecided = _profiles(postings.filter("rare"), members)
    undecided = undecided.join(positives, on=["group", "passage_id"], how="anti").drop("extended")
    queries = postings.select("group", "query_id").unique()
    classes = pairs.select("passage_id", pl.col("classes").alias("class")).explode("class").drop_nulls()
    return Relations(
        qrels=queries.join(positives, on="group").select(*PAIR, "extended").sort(PAIR),
        undecided=queries.join(undecided, on="group").select(PAIR).sort(PAIR),
        classes=classes.unique().sort("passage_id", "class"),
    )


def _profiles(postings: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """Return ``group``, ``passage_id``, ``extended``: observed profiles, then those that share a core."""
    keys = ["group", "passage_id"]
    observed = postings.select(keys).unique()
    cores = postings.select("group", "core").unique()
    extended = cores.join(members, on="core").select(keys).unique().join(observed, on=keys, how="anti")
    no, yes = pl.lit(value=False), pl.lit(value=True)
    return pl.concat([observed.with_columns(extended=no), extended.with_columns(extended=yes)])


CONFIG = Retrieval(
    name="jobs",
    release="mteb-de",
    title="German job postings: titles and their ESCO and KldB profiles",
    licence="cc-by-4.0",
    languages=("deu", "eng"),
    sources=(
        HubSource(
            repo="mischeiwiller/german-job-postings",
            revision="d49f1e4243",
            licence="cc-by-4.0",
            parts=(Part("postings", ("default",)),),
        ),
    ),
    read=read,
    ids="content",
    personal=ALL_KINDS,
    titles=True,
    compose=compose,
    empty_passage="empty_profile",
    rows="pair",
    query_key=merge_key,
    relevance_key=relevance_key,
    leak_key=leak_key,
    spelling="case, spaces, punctuation, forms of gender, places, contacts, legal forms and hours",
    relate=relate,
    mining=Mining(
        EncoderSpec(
            model="intfloat/multilingual-e5-base",
            revision="d128750597",
            max_length=512,
            query_prefix="query: ",
            passage_prefix="passage: ",
        )
    ),
    notes=(
        "Occupations and skills were mapped to ESCO by a machine upstream and are often wrong, so some "
        "positives are not relevant.",
        "Queries are German; the ESCO labels in the profiles are English upstream, so the task is declared "
        "deu and eng.",
        "A title says nothing about region or seniority: profiles that differ in those alone are equally "
        "relevant.",
        "A profile whose occupation, skills and KldB code were seen with fewer than 5 % of the postings of a "
        "group, in groups of 20 and more, is neither positive nor negative.",
        "The employer and the posting's own text are not part of the dataset.",
    ),
)
