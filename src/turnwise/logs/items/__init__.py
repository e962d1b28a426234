"""From dialogues to items: which replies are judged, in which groups, clusters and pairs."""
