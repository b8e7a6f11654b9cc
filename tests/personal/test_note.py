from __future__ import annotations

import json
from pathlib import Path

from scripts.bench.gold_set import score
from scripts.bench.scrub import FINDINGS, RESULTS
from scripts.bench.scrub_note import NOTE, render


def test_the_note_is_what_the_script_writes_now() -> None:
    stored = json.loads(RESULTS.read_text("utf-8"))
    assert NOTE.read_text("utf-8") == render(stored, FINDINGS), "run: python -m scripts.bench.scrub"


def test_a_small_form_holds_measured_figures_only(tmp_path: Path) -> None:
    note = render({}, tmp_path / "none.tsv")
    phone = score("gold").by_kind["phone"]
    assert f"| `phone` | {phone.found} | {phone.marked} | {phone.found / phone.marked:.3f} |" in note


def test_unread_findings_are_named(tmp_path: Path) -> None:
    table = tmp_path / "news.tsv"
    table.write_text("row\tstart\tend\trule\tform\tverdict\treason\n1\t2\t9\turl.host\txx.xx\t\t\n", "utf-8")
    note = render({"news": {"megabytes": 1.0, "counts": {"url": 1}}}, table)
    assert "Not read yet: 1." in note
    assert "(0.0 a megabyte)" in note
