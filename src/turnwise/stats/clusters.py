"""Cluster codes (integers that say which cluster an item belongs to) and sums of items over clusters."""

from collections.abc import Iterable, Sequence

import numpy as np

from turnwise.types import Floats, Ints

# Statistics over pairs of items need a C x C matrix. With more clusters than this, clusters are merged into this many
# groups and groups are resampled instead. Groups of independent clusters are independent, and 1,024 groups estimate
# a standard error to about 2 %.
MAX_CLUSTERS = 1024


def codes(labels: Sequence[str]) -> tuple[Ints, int]:
    """An integer code for each label, in order of first appearance, and the number of distinct labels."""
    return _coded(labels, dict.fromkeys(labels))


def cluster_codes(labels: Sequence[str]) -> tuple[Ints, int]:
    """An integer code for each label, in the order of the labels' names, and the number of distinct labels.

    Clusters that are resampled have these codes: the order of the data then changes no draw.
    """
    return _coded(labels, sorted(set(labels)))


def _coded(labels: Sequence[str], distinct: Iterable[str]) -> tuple[Ints, int]:
    """The place of each label among the distinct ones, and their number."""
    places = {label: place for place, label in enumerate(distinct)}
    return np.fromiter(map(places.__getitem__, labels), dtype=np.int64, count=len(labels)), len(places)


def connected_components(memberships: Sequence[Sequence[str]]) -> tuple[Ints, int]:
    """Component code of each unit, and the number of components; units are connected if they share a cluster.

    `memberships` lists the clusters of each unit, at least one. Codes are in order of first appearance.
    """
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        """The cluster that stands for the component of this one so far."""
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
    """Sum (n, ...) values of items to (C, ...) values of clusters; a cluster without items has sum 0."""
    values = np.asarray(values, dtype=np.float64)
    if len(values) != len(codes):
        raise ValueError(f"{len(values)} values but {len(codes)} cluster codes")
    sums = np.zeros((n_clusters, *values.shape[1:]))
    if len(codes):
        order = np.argsort(codes, kind="stable")
        present, starts = np.unique(codes[order], return_index=True)
        sums[present] = np.add.reduceat(values[order], starts, axis=0)
    return sums


def group_clusters(codes: Ints, n_clusters: int) -> tuple[Ints, int]:
    """Codes and count of the clusters, merged into `MAX_CLUSTERS` groups (code modulo it) where there are more."""
    return np.asarray(codes) % MAX_CLUSTERS, min(n_clusters, MAX_CLUSTERS)
