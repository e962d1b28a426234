"""Published figures of Lubis et al. 2022 and of the MultiWOZ leaderboard, for papers/offline_critic.py."""

# Lubis et al. 2022, Table 3; ConvLab's success of further systems as their authors report it.
PEOPLE = {
    "success": {"augpt": 90.75, "lava": 63.25, "hdsa": 55.25},
    "rating": {"augpt": 4.34, "lava": 3.44, "hdsa": 3.09},
}
# Tables 2 and 3 as printed: AuGPT, LAVA+PLAS, LAVA_kl, HDSA (pred).
PRINTED = {
    "corpus match": (83.30, 88.30, 97.50, 88.90),
    "corpus success": (67.20, 73.40, 94.80, 74.50),
    "corpus BLEU": (0.17, 0.14, 0.12, 0.20),
    "critic": (52.45, 51.76, 48.95, 49.00),
    "simulator complete": (89.20, 54.20, 49.20, 36.70),
    "simulator success": (83.30, 45.30, 40.00, 25.90),
    "simulator book": (85.16, 61.18, 63.20, 6.67),
    "simulator F1": (81.03, 58.85, 54.47, 49.97),
    "simulator turns": (14.50, 23.54, 26.64, 31.32),
}
PRINTED_PEOPLE = {"success": (90.75, 63.00, 63.25, 55.25), "rating": (4.34, 3.34, 3.44, 3.09)}
# Leaderboard of MultiWOZ (budzianowski/multiwoz, README), inform and success; the last one is the reference corpus.
PUBLISHED = {
    "labes": (68.5, 58.1), "damd": (57.9, 47.6), "augpt": (76.6, 60.5), "soloist": (82.3, 72.4),
    "ubar": (83.4, 70.3), "bort": (85.5, 77.4), "galaxy-e2e": (85.4, 75.7), "mars": (88.9, 78.0),
    "uniconv": (66.7, 58.7), "sfn": (93.4, 82.3), "hdsa": (87.9, 79.4), "lava": (95.9, 93.5),
    "galaxy-policy": (92.8, 83.5), "human": (93.7, 90.9),
}  # fmt: skip
# Table 2: match and success by the evaluator of 2018.
TABLE_2 = {"human": (90.40, 82.30), "augpt": (83.30, 67.20), "lava": (97.50, 94.80), "hdsa": (88.90, 74.50)}
# Table 5: Q of LAVA_kl's replies, turn by turn.
TABLE_5, PRINTED_Q = "pmul0089", (0.4730, 0.4569, 0.4478, 0.4461, 0.4205, 0.4167, 0.4095, 0.4161)
CONVLAB = {"augpt": 83.3, "ubar": 74.3, "lava": 40.0, "damd": 34.2, "hdsa": 25.9}
