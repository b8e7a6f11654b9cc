"""What is known of the sets that mteb publishes: sizes, names of labels, lengths.

Source: the descriptive statistics of the four tasks in mteb 2.20.0 (commit
a905523d0111f999360b312bd4a601a0a97a0e1c); the means over distinct texts are those on the pages of the
datasets. The sizes by set are the ones that the published totals determine.
"""

from __future__ import annotations

import json
from importlib import resources

from builders.spec import PublishedSets, TextFigures

_LABELS: dict[str, list[str]] = json.loads(
    (resources.files("builders.configs") / "_published_labels.json").read_text(encoding="utf-8")
)


BLURBS = PublishedSets(
    source="mteb, BlurbsClusteringS2S and BlurbsClusteringP2P",
    documents=18_086,
    sizes={
        "coarse": (12_284, 3_632, 2_217, 13_957, 6_314, 5_820, 5_465, 4_094, 13_874, 3_487),
        "fine": (12_895, 13_943, 16_425, 10_743, 3_232, 11_482, 8_720, 2_328, 2_296, 3_343),
    },
    labels={"genre": frozenset(_LABELS["genre"]), "topic": frozenset(_LABELS["topic"])},
    texts={
        "s2s": TextFigures(unique=17_726, shortest=1, mean=23.17, longest=158),
        "p2p": TextFigures(unique=18_084, shortest=79, mean=663.91, longest=4_878),
    },
)
TENKGNAD = PublishedSets(
    source="mteb, TenKGnadClusteringS2S and TenKGnadClusteringP2P",
    documents=10_277,
    sizes={"topic": (2_851, 1_436, 5_533, 5_039, 4_684, 3_313, 2_706, 9_962, 2_451, 7_939)},
    labels={"section": frozenset(_LABELS["section"])},
    texts={
        "s2s": TextFigures(unique=10_267, shortest=13, mean=50.97, longest=108),
        "p2p": TextFigures(unique=10_275, shortest=45, mean=2_648.46, longest=32_702),
    },
)
