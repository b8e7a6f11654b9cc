import datetime
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
import yaml
from huggingface_hub import DatasetCard
from markdown_it import MarkdownIt

from builders.describe import Target, render
from builders.describe.card import _front_matter as front_matter
from builders.describe.dataset import datasets_of
from builders.errors import UsageError
from builders.lock.lock import Funnel, Lock, LockedFinding
from builders.rehearsal.refusals import card_errors
from builders.spec import Retrieval
from builders.triplets import read_triplets
from tests.describe import kit
from tests.mining.samples import with_serving

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:datasets.*")
RENDERER = MarkdownIt("commonmark", {"html": True}).enable("table")


def card(built: kit.Built) -> str:
    return (built.root / "README.md").read_text(encoding="utf-8")


def body(text: str) -> str:
    return DatasetCard(text).text


def metadata_of(text: str) -> dict[str, Any]:
    data: Any = DatasetCard(text).data
    metadata: dict[str, Any] = data.to_dict()
    return metadata


def load(built: kit.Built, config: str, cache: Path, **options: Any) -> Any:
    from datasets import load_dataset

    return load_dataset(str(built.root), config, cache_dir=str(cache), **options)


def changed(built: kit.Built, change: Callable[[Lock], Lock], **spec: Any) -> str:
    """The card after `change` of the second lock and of fields of its spec."""
    first, second = built.locks
    specs: dict[str, Retrieval] = {**built.specs, second.config: kit.spec(second.config, **spec)}
    return render(kit.RELEASE, [first, change(second)], kit.TARGET, specs=specs)["README.md"].decode()


def test_the_hub_client_reads_the_metadata_back(built: kit.Built) -> None:
    loaded: Any = DatasetCard.load(built.root / "README.md").data

    expected = front_matter(kit.RELEASE, datasets_of(kit.RELEASE, built.locks, built.specs))
    assert loaded.to_dict() == expected
    assert loaded.pretty_name == kit.RELEASE.title
    assert loaded.source_datasets == ["verein/germandpr", "verein/jobs"]
    assert not card_errors(card(built).encode())


def test_configs_stand_in_a_fixed_order_with_explicit_files(built: kit.Built) -> None:
    configs = metadata_of(card(built))["configs"]

    assert [config["config_name"] for config in configs] == [
        "germandpr-corpus", "germandpr-queries", "germandpr-qrels",
        "jobs-corpus", "jobs-queries", "jobs-qrels", "jobs-hard_negatives",
    ]  # fmt: skip
    assert [file["split"] for file in configs[-1]["data_files"]] == ["train", "dev", "test"]
    assert all((built.root / file["path"]).is_file() for config in configs for file in config["data_files"])
    assert not any("default" in config for config in configs)


def test_every_config_and_split_loads_and_equals_its_parquet(built: kit.Built, tmp_path: Path) -> None:
    from datasets import Features, get_dataset_config_names

    assert set(get_dataset_config_names(str(built.root))) == {config for config, _, _ in built.tables()}
    for config, split, path in built.tables():
        loaded = load(built, config, tmp_path, split=split)
        table = pq.read_table(path)
        assert loaded.to_list() == table.to_pylist()
        assert loaded.features == Features.from_arrow_schema(table.schema)


def test_dataset_info_holds_what_the_files_hold(built: kit.Built) -> None:
    for info in metadata_of(card(built))["dataset_info"]:
        files = {split: path for config, split, path in built.tables() if config == info["config_name"]}
        tables = {split: pq.read_table(path) for split, path in files.items()}
        assert {s["name"]: (s["num_examples"], s["num_bytes"]) for s in info["splits"]} == {
            split: (table.num_rows, table.nbytes) for split, table in tables.items()
        }
        assert info["download_size"] == sum(path.stat().st_size for path in files.values())
        assert info["dataset_size"] == sum(table.nbytes for table in tables.values())


def test_a_split_without_rows_is_left_out_and_the_others_load(
    with_empty_split: kit.Built, tmp_path: Path
) -> None:
    metadata = metadata_of(card(with_empty_split))

    names = {split["name"] for split in metadata["dataset_info"][-1]["splits"]}
    assert names == {file["split"] for file in metadata["configs"][-1]["data_files"]} == {"train", "test"}
    assert set(load(with_empty_split, "jobs-hard_negatives", tmp_path)) == {"train", "test"}


def test_a_config_without_rows_is_left_out(built: kit.Built) -> None:
    def without_negatives(lock: Lock) -> Lock:
        files = (f.model_copy(update={"rows": 0}) if "hard" in f.path else f for f in lock.files)
        return lock.model_copy(update={"files": tuple(files)})

    text = changed(built, without_negatives)
    assert "jobs-hard_negatives" not in [c["config_name"] for c in metadata_of(text)["configs"]]
    assert "triplets" not in text


def test_a_low_yield_is_said_before_anything_else(built: kit.Built) -> None:
    def starve(lock: Lock) -> Lock:
        assert lock.mining is not None
        report = kit.starved(lock.mining.serving.report, full=1)
        return lock.model_copy(update={"mining": with_serving(lock.mining, report=report)})

    paragraphs = [part for part in body(changed(built, starve)).split("\n\n") if part.strip()]
    first = " ".join(paragraphs[1].replace("\n> ", " ").split())
    assert paragraphs[0].startswith("# ")
    assert first.startswith("> **Hard negatives are scarce in `jobs`.**")
    assert "2 of 300 queries (0.7 %) have at least one, 1 have all 5." in first
    assert "scarce" not in card(built)


def test_figures_come_from_the_locks(built: kit.Built) -> None:
    rows = _table_rows(body(card(built)))

    assert ("jobs-hard_negatives", "test", "4", f"{built.locks[1].files[2].size:,}") in rows
    assert ("queries", "dropped empty_query: the query had no text", "2") in rows
    assert ("passages", "merged with an equal row", "1") in rows
    assert ("Relevant pairs", "20") in rows and ("Relevant pairs without the extension", "17") in rows
    assert ("phone", "1", "0") in rows
    assert ("all", "10", "20", "2.0", "20", "0") in rows
    assert ("jobs", "verein/jobs", "d49f1e4243" + "0" * 30, "CC-BY-4.0") in rows
    assert "2 of 3 test queries (66.7 %) share a relevant passage" in " ".join(card(built).split())


def test_what_keeps_the_splits_apart_is_said_with_its_exceptions(built: kit.Built) -> None:
    plain = " ".join(card(built).split())
    assert "Queries that differ in case, spaces and punctuation alone lie in one split. 0 of" in plain

    def found(lock: Lock) -> Lock:
        findings = (
            LockedFinding(code="alike-across-splits", severity="note", count=1, message="alike"),
            LockedFinding(code="twins-committed", severity="note", count=4, message="twins"),
        )
        return lock.model_copy(update={"findings": findings})

    text = " ".join(changed(built, found, spelling="case alone, or hyphens").split())
    assert (
        "in one split, but for 4 such sets that an earlier version parted. 1 of 3 test queries (33.3 %)"
        in text
    )
    assert "twin" not in plain.split("## germandpr")[1].split("every row accounted for")[0]


def test_how_splits_share_positives_is_said_as_the_build_found_it(built: kit.Built) -> None:
    def overlap(code: str = "", **spec: Any) -> str:
        found = (LockedFinding(code=code, severity="note", count=4, message="x"),) if code else ()
        text = changed(built, lambda lock: lock.model_copy(update={"findings": found}), **spec)
        return " ".join(text.split("## jobs")[1].split("**Overlap.**")[1].split("\n#")[0].split())

    whole = "Queries that are connected by relevant passages that they share lie in one split"
    apart = "the splits separate queries, not passages"
    assert apart in overlap().lower() and whole not in overlap()
    assert overlap(components=True).endswith(f"{whole}.")
    assert overlap("components-committed", components=True).endswith(
        f"{whole}, but for 4 such sets that an earlier version parted or that have grown together since."
    )
    giant = overlap("component-giant", components=True)
    assert "4 queries (40.0 %) are connected" in giant and apart in giant and whole not in giant


def test_pairs_end_in_what_is_published(built: kit.Built) -> None:
    pairs = Funnel(table="pairs", read=30, dropped={"no_positive": 4}, merged=2, undecided=5, out=19)
    rows = _table_rows(body(changed(built, lambda lock: lock.model_copy(update={"funnels": (pairs,)}))))
    assert ("pairs", "dropped no_positive: no relevant passage was left", "4") in rows
    assert ("pairs", "published as neither positive nor negative", "5") in rows
    assert ("pairs", "published", "19") in rows


def test_a_card_cites_what_is_found_of_invented_people(built: kit.Built) -> None:
    figures = {
        "full_marked": 676,
        "full_found": 650,
        "first_marked": 234,
        "first_found": 200,
        "plain_marked": 50,
    }
    facts = {f"personal_{name}": value for name, value in (figures | {"plain_found": 40}).items()}
    text = changed(built, lambda lock: lock.model_copy(update={"facts": {**lock.facts, **facts}}))
    told = " ".join(text.split())
    assert "650 of 676 full names behind a cue (96.2 %)" in told
    assert "200 of 234 first names behind a cue (85.5 %)" in told
    assert "40 of 50 full names without one (80.0 %)" in told
    assert told.count("full names behind a cue") == 1, "not where names are left in the texts"
    assert "full names behind a cue" not in card(built)


def test_every_table_keeps_its_columns(built: kit.Built) -> None:
    text = body(card(built))
    tables = _tables(text)

    assert len(tables) == sum(line.startswith("| ---") for line in text.splitlines()) >= 15
    for header, *rows in tables:
        assert rows and all(len(row) == len(header) for row in rows)


def test_a_build_from_stand_ins_says_so_first(built: kit.Built) -> None:
    def local(lock: Lock) -> Lock:
        source = lock.sources[0].model_copy(update={"kind": "folder", "revision": "", "resolved": ""})
        return lock.model_copy(update={"sources": (source,)})

    text = changed(built, local)
    assert "> **A rehearsal, not a release.**" in text.split("\n## ")[0]
    assert "> jobs: verein/jobs was read from a folder, not from its upstream." in text
    assert ("jobs", "verein/jobs", "none: a local copy", "CC-BY-4.0") in _table_rows(body(text))
    assert "rehearsal" not in card(built)


def test_a_build_from_a_stand_in_for_the_hub_says_so_too(built: kit.Built) -> None:
    text = changed(built, lambda lock: lock.model_copy(update={"parameters": {"stand_in": True, "limit": 9}}))
    assert "> jobs: only 9 queries were built;" in text
    assert "> jobs: its sources came from a stand-in for the Hub." in text


HOSTILE = (
    "no", "2024", "1e3", "a | b", "`x` ``y``", "<script>alert(1)</script>", "zwei\nZeilen\n\n# Titel", "---",
    "[klick](javascript:alert(1))", "![bild](https://x.example/b.png)", "{{ 7 * 7 }}", "{% raw %}",
    "*fett* $x$", "\x00\u202etext", "&lt;b&gt;", "| --- |", "- eins\n- zwei", "<!-- ", "'\"", ": - #", "https://x.example|",
)  # fmt: skip


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_values_break_neither_card_nor_metadata(built: kit.Built, value: str) -> None:
    text, metadata = _card_with(built, value)

    data = metadata_of(text)
    assert data["pretty_name"] == " ".join(value.split())
    assert data == metadata == yaml.safe_load(text.split("\n---\n")[0].removeprefix("---\n"))
    html = RENDERER.render(body(text)).replace("<!-- -->", "")  # which parts an address, see `escape`
    assert _skeleton(html) == _skeleton(RENDERER.render(body(_card_with(built, "harmlos")[0])))
    assert "javascript:" not in re.sub(r' alt="[^"]*"|(?<=>)[^<]*(?=<)', "", html)


def _card_with(built: kit.Built, value: str) -> tuple[str, dict[str, Any]]:
    """A card and its metadata with `value` wherever a lock or spec may hold text from outside."""
    first, second = built.locks
    assert second.mining is not None
    source = second.sources[0].model_copy(update={"name": value, "licence": value, "resolved": value})
    encoder = second.mining.encoder.model_copy(update={"model": value, "query_prefix": value})
    report = second.mining.serving.report.model_copy(update={"dropped": {value: 1}})
    mining = with_serving(second.mining, report=report).model_copy(update={"encoder": encoder})
    spoiled = second.model_copy(
        update={
            "sources": (source,),
            "findings": (LockedFinding(code=value, severity="gate", count=1, message=value, waived=value),),
            "funnels": (Funnel(table=value, read=2, dropped={value: 1}, out=1),),
            "personal": {value: {value: 3}},
            "tools": {value: value},
            "mining": mining,
        }
    )
    release = replace(kit.RELEASE, title=value)
    specs = {**built.specs, "jobs": kit.spec("jobs", title=value, notes=(value, value))}
    text = render(release, [first, spoiled], kit.TARGET, specs=specs)["README.md"].decode()
    return text, front_matter(release, datasets_of(release, [first, spoiled], specs))


def _skeleton(html: str) -> list[str]:
    """Block structure, images and links; code spans and emphasis inside a line do not matter."""
    names = re.findall(r"<(/?[a-zA-Z!][a-zA-Z0-9-]*)", html)
    skip = {"a", "/a", "code", "/code", "em", "/em", "strong", "/strong"}
    return [name for name in names if name not in skip]


def test_what_cannot_be_a_card_is_refused(built: kit.Built) -> None:
    first, second = built.locks
    cases: list[tuple[list[Lock], str]] = [
        ([], "no built config"),
        ([first, first], "two locks"),
        ([first.model_copy(update={"release": "tecb-de"})], "belongs to release 'tecb-de'"),
        ([first.model_copy(update={"config": "a b"})], "unknown config 'a b'"),
        ([first.model_copy(update={"files": ()})], "no file with rows"),
        ([first.model_copy(update={"licence": "cc-by-9.0"})], "unknown licence"),
        ([_with_file(second, config="jobs-top_ranked")], "not a published table"),
        ([_with_file(second, split="a-b")], "not a published table"),
        ([_with_file(second, path="../x.parquet")], "not a published table"),
    ]
    for locks, message in cases:
        with pytest.raises(UsageError, match=message):
            render(kit.RELEASE, locks, kit.TARGET, specs=built.specs)


def test_a_dataset_without_a_card_body_is_refused(built: kit.Built) -> None:
    first = built.locks[0]
    files = tuple(f.model_copy(update={"config": f.config.replace("germandpr", "neu")}) for f in first.files)
    lock = first.model_copy(update={"config": "neu", "files": files})
    with pytest.raises(UsageError, match=r"cards/neu\.md\.j2 is missing"):
        render(kit.RELEASE, [lock], kit.TARGET, specs={"neu": kit.spec("germandpr")})


def _with_file(lock: Lock, **changes: str) -> Lock:
    return lock.model_copy(update={"files": (lock.files[0].model_copy(update=changes), *lock.files[1:])})


def test_only_the_date_changes_with_the_date(built: kit.Built) -> None:
    later = Target(kit.TARGET.repo, kit.TARGET.version, datetime.date(2026, 11, 30))
    ours = render(kit.RELEASE, built.locks, kit.TARGET, specs=built.specs)
    again = render(kit.RELEASE, built.locks[::-1], kit.TARGET, specs=built.specs)
    theirs = render(kit.RELEASE, built.locks, later, specs=built.specs)

    assert ours == again
    assert ours != theirs
    moved = {path: data.replace(b"2026-11-30", b"2026-01-05") for path, data in theirs.items()}
    assert moved == ours


def test_the_changelog_names_the_first_release_and_points_to_tags_afterwards(built: kit.Built) -> None:
    later = replace(kit.TARGET, version="1.1.0")
    for target, what in ((kit.TARGET, "first release."), (later, "see the tags of this repository.")):
        text = render(kit.RELEASE, built.locks, target, specs=built.specs)["README.md"].decode()
        assert f"- **{target.version}** ({target.date}): {what}\n" in text


def test_a_private_release_says_that_one_must_log_in(built: kit.Built) -> None:
    private = replace(kit.TARGET, private=True)
    assert (
        "log in first" in render(kit.RELEASE, built.locks, private, specs=built.specs)["README.md"].decode()
    )
    assert "log in first" not in card(built)


def test_licence_texts_lie_beside_the_data(built: kit.Built) -> None:
    lock = built.locks[0].model_copy(update={"licence": "cc0-1.0"})
    files = render(kit.RELEASE, [lock, built.locks[1]], kit.TARGET, specs=built.specs)

    licences = {path for path in files if path.startswith("LICENSE")}
    assert licences == {"LICENSE-CC-BY-4.0.txt", "LICENSE-CC0-1.0.txt"}
    assert b"Section 8 -- Interpretation." in files["LICENSE-CC-BY-4.0.txt"]
    assert files["LICENSE-CC0-1.0.txt"].splitlines()[-2:] == [
        b"SPDX-License-Identifier: CC0-1.0",
        b"Legal code: https://creativecommons.org/publicdomain/zero/1.0/legalcode",
    ]


def test_the_code_on_the_card_runs(built: kit.Built) -> None:
    """The examples, read from the local folder instead of the Hub; mteb and the model are left out."""
    blocks = re.findall(r"```python\n(.*?)```", card(built), re.S)
    assert len(blocks) == 5
    for block in blocks:
        compile(block, "README.md", "exec")

    local = [
        block
        .replace("hf://datasets/verein/mteb-de@v1.0.0", str(built.root))
        .replace('"verein/mteb-de"', json.dumps(str(built.root)))
        .replace(', revision="v1.0.0"', "")
        .replace('scores = evaluator(SentenceTransformer("intfloat/multilingual-e5-small"))', "")
        for block in blocks
        if "import mteb" not in block
    ]
    names: dict[str, Any] = {}
    exec("\n".join(local), names)
    assert names["corpus"].height == 12
    assert names["evaluator"].queries == [text for _, text in _test_queries(built)]
    triplets = names["triplets"]
    assert triplets.height == pl.read_parquet(built.root / "jobs/hard_negatives/train.parquet").height > 0
    assert triplets.equals(read_triplets(built.root))


def test_every_paragraph_is_separated_from_the_one_before(built: kit.Built) -> None:
    finding = LockedFinding(code="x", severity="note", message="y", count=1)
    plain = changed(built, lambda lock: lock)
    assert "\n\n**Data statement.**" in plain and "No person has judged" in plain
    for text in (
        card(built),
        plain,
        changed(built, lambda lock: lock.model_copy(update={"findings": (finding,)})),
    ):
        assert kit.unseparated(text) == []


def _test_queries(built: kit.Built) -> list[tuple[str, str]]:
    rows = pq.read_table(built.root / "germandpr/queries/test.parquet").to_pylist()
    return [(row["_id"], row["text"]) for row in rows]


def _tables(text: str) -> list[list[list[str]]]:
    tables = re.findall(r"<table>(.*?)</table>", RENDERER.render(text), re.S)
    return [[_cells(row) for row in re.findall(r"<tr>(.*?)</tr>", table, re.S)] for table in tables]


def _cells(row: str) -> list[str]:
    return [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)]


def _table_rows(text: str) -> set[tuple[str, ...]]:
    return {tuple(row) for table in _tables(text) for row in table}
