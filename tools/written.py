"""Files that a tool makes."""

from pathlib import Path

ROOT = Path(__file__).parents[1]


def write(path: Path, text: str) -> None:
    """Write a file and say so, unless it has this text."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.write_text(text, encoding="utf-8")
    print(f"{path} is written")
