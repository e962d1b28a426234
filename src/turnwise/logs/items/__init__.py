"""From dialogues to items: which replies are selected, in which groups, clusters and pairs."""
