"""Small venue tables in the format of the published ones."""

import json
from pathlib import Path
from typing import Any

TABLES: dict[str, list[dict[str, Any]]] = {
    "restaurant_db.json": [
        {"id": "1", "name": "the golden house", "food": "chinese", "area": "centre", "pricerange": "cheap"},
        {"id": "2", "name": "saffron", "food": "indian", "area": "east", "pricerange": "expensive"},
        {"id": "3", "name": "curry king", "food": "indian", "area": "centre", "pricerange": "cheap"},
    ],
    "hotel_db.json": [
        {"id": "1", "name": "acorn guest house", "type": "guesthouse", "stars": "4", "parking": "yes"},
        {"id": "2", "name": "the lensfield hotel", "type": "hotel", "stars": "3", "parking": "yes"},
    ],
    "attraction_db.json": [{"id": "1", "name": "christ's college", "type": "college", "area": "centre"}],
    "train_db.json": [
        {"trainID": "TR1", "departure": "cambridge", "destination": "ely", "leaveAt": "09:50", "day": "monday"},
        {"trainID": "TR2", "departure": "cambridge", "destination": "ely", "leaveAt": "17:50", "day": "monday"},
    ],
}  # fmt: skip


def write_tables(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in TABLES.items():
        (folder / name).write_text(json.dumps(rows))
    return folder
