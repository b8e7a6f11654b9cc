"""German job postings: the title is the query, the posting's ESCO and KldB profile the passage."""

import csv
from pathlib import Path

import polars as pl
import pyarrow as pa

from builders.configs._rows import refuse_repeated_ids, with_ids
from builders.errors import SourceSchema
from builders.sources.parquet import read_rows
from builders.spec import (
    ALL_KINDS,
    PAIR,
    RECIPES,
    EncoderSpec,
    Files,
    HubSource,
    LocalFile,
    Mining,
    Part,
    Records,
    Relations,
    Retrieval,
)
from builders.text.normalise import each
from builders.text.titles import leak_key, merge_key, relevance_key

_RARE_SHARE = 20  # a KldB code seen with fewer than one in 20 postings of a group is undecided
_GERMAN_LABELS = "occupations_de.csv"  # as ESCO's own download names it

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

    The employer and the posting's own text are not read. ESCO's German names of occupations are read where
    there is a file of them: upstream's are English.
    """
    german = _german_labels(files[_GERMAN_LABELS][0]) if _GERMAN_LABELS in files else {}
    rows, nameless = with_ids(read_rows(files["postings"], _COLUMNS), "rows", "id")
    refuse_repeated_ids(rows, "id")
    occupation, skills = pl.col("esco_occupation").struct, pl.col("esco_skills").list
    label, uri = occupation.field("label"), occupation.field("uri")
    passages = rows.select(
        upstream_id="id",
        occupation=label,
        occupation_uri=uri,
        name=uri.replace_strict(german, default=label, return_dtype=pl.String),
        skills=skills.eval(pl.element().struct.field("label")),
        skill_uris=skills.eval(pl.element().struct.field("uri")),
        region="region",
        seniority="seniority",
        kldb="kldb_2010",
    )
    queries = rows.select(upstream_id="id", text="title")
    pairs = rows.select(query="id", passage=pl.col("id").alias("passage"))
    return Records(queries, passages, pairs, nameless)


def _german_labels(path: Path) -> dict[str, str]:
    """Read ESCO's table of occupations: the German name of each URI."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return {row["conceptUri"]: row["preferredLabel"] for row in csv.DictReader(file)}
    except (KeyError, TypeError, UnicodeDecodeError, csv.Error) as error:
        raise SourceSchema(
            f"{path}: not ESCO's table of occupations ({error})",
            hint="It is a CSV file in UTF-8 with the columns conceptUri and preferredLabel.",
        ) from error


def compose(passages: pl.DataFrame) -> pl.DataFrame:
    """Compose profiles by the template, and their cores.

    ``{occupation}. Skills: {a}; {b}. Region: {region}. Seniority: {seniority}. KldB 2010: {code}.``, with
    missing parts and the seniority "unknown" left out, skills in upstream order.

    Args:
        passages: The passages of `read`, normalised.

    Returns:
        ``upstream_id`` str; ``title`` str, empty; ``text`` str, null without occupation and skills; ``core``
        str, equal for profiles of one occupation, set of skills and KldB code; ``occupation`` str, the URI,
        or the label where there is none; ``code`` str, the KldB code, else the occupation, else the core;
        ``named`` str or null, the leak key of the occupation's name; ``classes`` list of str, its occupation
        URI, its KldB code, and the first four digits of that.
    """
    occupation = pl.coalesce("occupation_uri", "occupation")
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
    # A skill without a URI is known by its label.
    lacking = skills.list.len().fill_null(0) > uris.list.len().fill_null(0)
    skill_set = pl.when(lacking).then(skills).otherwise(uris).list.unique().list.sort().list.join(" ")
    parts = occupation, skill_set, pl.col("kldb")
    core = pl.concat_str([part.fill_null("") for part in parts], separator="|")
    group_of_kldb = pl.col("kldb").str.extract(r"^(\d{4})\d$")
    return passages.select(
        "upstream_id",
        title=pl.lit(""),
        text=pl.when(pl.col("occupation").is_not_null() | labels.is_not_null()).then(profile),
        core=core,
        occupation=occupation,
        code=pl.coalesce("kldb", occupation, core),
        named=each(passages["name"], lambda name: leak_key(relevance_key(merge_key(name)))),
        classes=pl.concat_list(
            pl.format("esco {}", "occupation_uri"),
            pl.format("kldb {}", "kldb"),
            pl.format("kldb4 {}", group_of_kldb),
        ),
    )


def relate(pairs: pl.DataFrame) -> Relations:
    """Relate queries to the profiles of their group's postings, and to those of the same cores.

    Relevant to a query is every profile observed with any query of its group, and every profile with the same
    core as one of those (marked as extended): it differs in what a title does not tell. A KldB code seen with
    fewer than 5 % of the postings of a group of 20 or more is undecided there ("rare"), with all profiles of
    its cores, but for those that another core makes relevant, and unless all codes of the group are so rare.
    Undecided too are profiles whose occupation has the title as its name ("occupation_is_title").

    Args:
        pairs: One row per posting: ``query_id``, ``passage_id``, ``group``, and of `compose` ``core``,
            ``code``, ``named``, ``occupation`` and ``classes``; maybe ``confirmed`` bool: auditors found the
            pair relevant. It was not observed, so it does not count among the postings, and its code is never
            rare in its group.

    Returns:
        Relations, sorted by query and passage. Passages of one occupation URI, of one KldB code, and of one
        KldB code but for the last digit, are a class.
    """
    if "confirmed" not in pairs.columns:
        pairs = pairs.with_columns(confirmed=pl.lit(value=False))
    posted, confirmed = (~pl.col("confirmed")).sum(), pl.col("confirmed").any()
    size, seen = posted.over("group"), posted.over("group", "code")
    # No code is rare in a group of fewer than 20: a single posting is 5 % of it.
    postings = pairs.with_columns(rare=(seen * _RARE_SHARE < size) & ~confirmed.over("group", "code"))
    postings = postings.with_columns(pl.col("rare") & ~pl.col("rare").all().over("group"))
    members = postings.select("core", "passage_id").unique()
    positives = _profiles(postings.filter(~pl.col("rare")), members)
    profile = ["group", "passage_id"]
    reasons = {
        "rare": _profiles(postings.filter("rare"), members),
        "occupation_is_title": _named_as_group(postings),
    }
    undecided = pl.concat(found.select(*profile, reason=pl.lit(reason)) for reason, found in reasons.items())
    undecided = undecided.unique(profile, keep="first", maintain_order=True)
    undecided = undecided.join(positives, on=profile, how="anti")
    queries = postings.select("group", "query_id").unique()
    classes = pairs.select("passage_id", pl.col("classes").alias("class")).explode("class").drop_nulls()
    occupations = pairs.group_by("passage_id").agg(pl.col("occupation").min()).drop_nulls()
    return Relations(
        qrels=queries.join(positives, on="group").select(*PAIR, "extended").sort(PAIR),
        undecided=queries.join(undecided, on="group").select(*PAIR, "reason").sort(PAIR),
        classes=classes.unique().sort("passage_id", "class"),
        occupations=occupations.sort("passage_id"),
    )


def _named_as_group(postings: pl.DataFrame) -> pl.DataFrame:
    """Return ``group``, ``passage_id``: profiles whose occupation's name is the titles of the group."""
    groups = postings.select("group").unique()
    groups = groups.with_columns(named=each(groups["group"], leak_key))
    names = postings.select("named", "passage_id").unique()
    return groups.join(names, on="named").select("group", "passage_id")


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
        LocalFile(
            name=_GERMAN_LABELS,
            folder="esco",
            hint="It is in ESCO's download of the classification in German, as CSV.",
            optional=True,
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
    components=True,
    spelling="case, spaces, punctuation, forms of gender, places, contacts, legal forms and hours",
    relate=relate,
    mining=Mining(
        EncoderSpec(
            model="intfloat/multilingual-e5-base",
            revision="d128750597",
            max_length=512,
            query_prefix="query: ",
            passage_prefix="passage: ",
        ),
        RECIPES["v1"],
    ),
    notes=(
        "Occupations and skills were mapped to ESCO by a machine upstream and are often wrong, so some "
        "positives are not relevant.",
        "Queries are German; the ESCO labels in the profiles are English upstream, so the task is declared "
        "deu and eng.",
        "A title says nothing about region or seniority: profiles that differ in those alone are equally "
        "relevant.",
        "A profile whose KldB code was seen with fewer than 5 % of the postings of a group, in groups of 20 "
        "and more, is neither positive nor negative there, unless all codes of the group are so rare.",
        "A profile whose occupation has the title as its name is not negative, and positive only where a "
        "posting says so.",
        "The employer and the posting's own text are not part of the dataset.",
    ),
)
