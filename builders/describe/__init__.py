"""Card with plots, Croissant and licence files of a release: a pure function of locks, citations, target."""

from collections.abc import Mapping, Sequence

from builders.describe.target import Target
from builders.lock.beside import Citations
from builders.lock.lock import Lock
from builders.spec import ConfigSpec, Release

__all__ = ["Target", "render"]


def render(
    release: Release,
    locks: Sequence[Lock],
    target: Target,
    *,
    specs: Mapping[str, ConfigSpec] | None = None,
    citations: Mapping[str, Citations] | None = None,
) -> dict[str, bytes]:
    """Return the files that describe a release, by path: README.md, plots, croissant.jsonld, licences.

    The same arguments give the same bytes; the only date in them is the target's. Specs by config name that
    are not given are those of the registry; citations of other rows are left out.
    """
    from builders.describe.card import render_card
    from builders.describe.croissant import croissant
    from builders.describe.dataset import datasets_of
    from builders.describe.licences import licence_files
    from builders.describe.plots import plots
    from builders.files import json_bytes

    datasets = datasets_of(release, locks, specs, citations)
    used = [release.licence, *(dataset.lock.licence for dataset in datasets)]
    return {
        "README.md": render_card(release, datasets, target).encode(),
        "croissant.jsonld": json_bytes(croissant(release, datasets, target)),
        **plots(datasets),
        **licence_files(used, [dataset.name for dataset in datasets]),
    }
