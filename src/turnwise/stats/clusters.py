"""Which items belong together, and sums over them."""

from collections.abc import Sequence

import numpy as np

from turnwise.types import Floats, Ints

# Statistics over pairs of items hold C x C numbers. More clusters than this are dealt round into as many
# groups, which are then drawn in their stead: groups of independent clusters are independent, and 1,024 of
# them know a standard error to 2 %.
MOST_CLUSTERS = 1024


def codes(labels: Sequence[str]) -> tuple[Ints, int]:
    """A number for each label, in order of first appearance, and how many there are."""
    seen: dict[str, int] = {}
    coded = np.fromiter(
        (seen.setdefault(label, len(seen)) for label in labels), dtype=np.int64, count=len(labels)
    )
    return coded, len(seen)


def connected(memberships: Sequence[Sequence[str]]) -> tuple[Ints, int]:
    """Codes such that two units that share a cluster, directly or through others, have the same code."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        parent.setdefault(name, name)
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for names in memberships:
        for name in names[1:]:
            parent[root(name)] = root(names[0])
    return codes([root(names[0]) for names in memberships])


def cluster_sums(values: Floats, codes: Ints, n_clusters: int) -> Floats:
    """(n, ...) values of items -> (C, ...) sums over clusters; a cluster without items sums to 0."""
    values = np.asarray(values, dtype=np.float64)
    if len(values) != len(codes):
        raise ValueError(f"{len(values)} values have {len(codes)} cluster codes")
    sums = np.zeros((n_clusters, *values.shape[1:]))
    if len(codes):
        order = np.argsort(codes, kind="stable")
        present, starts = np.unique(codes[order], return_index=True)
        sums[present] = np.add.reduceat(values[order], starts, axis=0)
    return sums


def deal(codes: Ints, n_clusters: int) -> tuple[Ints, int]:
    """The clusters themselves where there are at most `MOST_CLUSTERS`, else so many groups of them."""
    return np.asarray(codes) % MOST_CLUSTERS, min(n_clusters, MOST_CLUSTERS)
