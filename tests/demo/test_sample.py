"""What the sample is made of, and that it is laid out as the upstreams are."""

from __future__ import annotations

import hashlib
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from builders.configs import germandpr, jobs
from builders.personal import scrub
from builders.sources import fetch
from builders.spec import Files, Retrieval
from builders.tables import to_bytes
from scripts.make_sample.postings import occupations, postings
from tests.demo.conftest import POSTINGS
from tests.fixtures import hub

ROOT = Path(__file__).parents[2]
FICTION = ("02214710", "03023125", "017139200", "015228817386")
"""Beginnings of numbers that the Bundesnetzagentur keeps free for films and examples."""


def fetched(spec: Retrieval, sample: Path, root: Path) -> Files:
    return fetch(spec.sources, offline=True, sources_from=(str(sample),), root=root).files


def strings(value: object) -> Iterator[str]:
    """Yield every string in nested lists and dicts."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from strings(list(value.values()))
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def written(sample: Path) -> list[str]:
    """Return every string in the tables of the sample."""
    return [
        text
        for path in sorted(sample.rglob("*.parquet"))
        for text in strings(pq.read_table(path).to_pylist())
    ]


def test_germandpr_is_read_whole_and_every_question_has_its_passage(sample: Path, tmp_path: Path) -> None:
    records = germandpr.CONFIG.read(fetched(germandpr.CONFIG, sample, tmp_path))
    assert records.passages["upstream_id"].n_unique() == records.passages["text"].n_unique() >= 60
    assert records.queries["upstream_id"].n_unique() == records.queries["text"].n_unique() >= 120
    assert set(records.pairs["query"]) == set(records.queries["upstream_id"])
    assert set(records.pairs["passage"]) == set(records.passages["upstream_id"])


def test_questions_share_words_with_their_own_passage_most_often(sample: Path, tmp_path: Path) -> None:
    records = germandpr.CONFIG.read(fetched(germandpr.CONFIG, sample, tmp_path))
    passages: dict[str, str] = dict(records.passages.select("upstream_id", "text").iter_rows())
    queries: dict[str, str] = dict(records.queries.iter_rows())

    def stems(text: str) -> set[str]:
        return {word[:6] for word in re.findall(r"\w{4,}", text.casefold())}

    def best(question: str) -> str:
        return max(passages, key=lambda each: len(stems(passages[each]) & stems(queries[question])))

    right = sum(best(query) == passage for query, passage in records.pairs.iter_rows())
    assert right / records.pairs.height > 0.75


def test_jobs_are_read_in_the_schema_of_the_upstream(sample: Path, tmp_path: Path) -> None:
    records = jobs.CONFIG.read(fetched(jobs.CONFIG, sample, tmp_path))
    assert records.queries.height == records.passages.height == records.pairs.height >= 600
    assert postings(1, random.Random(0)).schema.equals(hub.POSTINGS)
    assert pq.read_schema(sample / POSTINGS).names == hub.POSTINGS.names


def test_the_bundled_files_are_those_that_the_script_makes(sample: Path, tmp_path: Path) -> None:
    env = os.environ | {"PYTHONHASHSEED": "12345", "TZ": "Pacific/Auckland"}
    subprocess.run(
        [sys.executable, "-W", "error", "-m", "scripts.make_sample", str(tmp_path)],
        env=env,
        cwd=ROOT,
        check=True,
    )

    def digests(folder: Path) -> dict[str, str]:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}

    assert digests(tmp_path) == digests(sample)
    assert len(digests(sample)) == 11


def test_another_seed_gives_other_postings() -> None:
    assert to_bytes(postings(50, random.Random(5))) == to_bytes(postings(50, random.Random(5)))
    assert to_bytes(postings(50, random.Random(5))) != to_bytes(postings(50, random.Random(6)))
    assert postings(700, random.Random(5)).num_rows == 700


def test_occupations_are_many_and_their_codes_are_strings_of_five_digits() -> None:
    known = occupations()
    assert len({occupation.title for occupation in known}) == len(known) >= 160
    assert len({occupation.label for occupation in known}) >= 160
    assert all(re.fullmatch(r"\d{4}[1-4]", occupation.kldb) for occupation in known)
    assert any(occupation.kldb.startswith("0") for occupation in known)


def test_labels_and_skills_are_english_and_few() -> None:
    for occupation in occupations():
        assert 1 <= len(occupation.skills) <= 5, occupation
        assert re.fullmatch(r"[A-Za-z /'-]+", "".join([occupation.label, *occupation.skills])), occupation


def test_a_title_without_contact_data_is_no_personal_data() -> None:
    """Trades that are surnames as well (Koch, Müller, Schäfer) stay."""
    titles = [f"{occupation.title} {occupation.focus}".strip() for occupation in occupations()]
    assert scrub(pl.Series(titles)).spans.is_empty()


def test_no_address_on_the_net_is_real(sample: Path) -> None:
    everything = "\n".join(written(sample))
    hosts = re.findall(r"(?:https?://|@)([\w.-]+)", everything)
    assert hosts
    assert {host.rpartition(".")[2] for host in hosts} == {"example"}
    assert not re.search(r"\bwww\.|\w\.(?:de|com|org|net|eu)\b", everything)


def test_no_phone_number_is_real(sample: Path) -> None:
    read_by_people = (text for text in written(sample) if not re.match(r"https?://|\d{5}-\d{10}-S$", text))
    numbers = re.findall(r"(?<!\d)[+0]\d[\d /()-]{6,}\d", "\n".join(read_by_people))
    digits = {re.sub(r"\D", "", number) for number in numbers}
    assert len(digits) >= 4
    assert {number for number in digits if not number.startswith(FICTION)} == set()


def test_questions_hold_no_contact_data(sample: Path, tmp_path: Path) -> None:
    records = germandpr.CONFIG.read(fetched(germandpr.CONFIG, sample, tmp_path))
    texts = pl.concat([records.queries["text"], records.passages["text"]])
    assert scrub(texts, germandpr.CONFIG.personal).spans.is_empty()
