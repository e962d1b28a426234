"""The plan and its results: a spec in, `results.json` and `items.jsonl` out, resumable at any moment."""
