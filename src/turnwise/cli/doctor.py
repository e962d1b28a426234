"""`turnwise doctor`."""

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click

from turnwise import __version__
from turnwise.cli import options

# Extra -> what it adds, and the packages that it installs.
EXTRAS = {
    "core": ("reading, scoring, statistics", "numpy scipy msgspec click rich jinja2 sacrebleu rapidfuzz"),
    "tables": ("Parquet and Arrow files", "polars"),
    "pandas": ("results as pandas data frames", "pandas"),
    "neural": (
        "encoders, language models, learned metrics",
        "torch transformers tokenizers safetensors gguf",
    ),
    "plots": ("figures", "matplotlib"),
    "web": ("the rating app", "starlette uvicorn"),
    "postgres": ("ratings in a PostgreSQL database", "psycopg"),
    "cluster": ("running on Ray", "ray"),
}


@click.command(name="doctor")
@options.printing
def command(style: str, quiet: bool, verbose: bool) -> None:
    """What is installed, and what each missing extra would add."""
    from turnwise.encode.cache.disk import Cache
    from turnwise.encode.models.catalogue import fetched
    from turnwise.report import results, text

    records = [_record(extra, allows, packages.split()) for extra, (allows, packages) in EXTRAS.items()]
    kept = Cache().stats()
    weights = {model.name: str(folder) if folder else None for model, folder in fetched()}
    if style == "json":
        cache = {"path": str(kept.path), "bytes": kept.size, "limit": kept.limit, "spaces": kept.spaces}
        about = {"turnwise": __version__, "python": platform.python_version()}
        document = {**about, "extras": records, "weights": weights, "cache": cache}
        click.echo(results.to_json(document).decode(), nl=False)
        return
    click.echo(f"turnwise {__version__}, Python {platform.python_version()}, {platform.platform()}\n")
    rows = [
        [record["extra"], "ready" if record["ready"] else "missing", record["allows"], _versions(record)]
        for record in records
    ]
    click.echo(text.table(rows, ["extra", "state", "allows", "packages"]))
    here = [name for name, folder in weights.items() if folder]
    absent = [name for name, folder in weights.items() if not folder]
    click.echo(f"\nweights here: {', '.join(here) or 'none'}; not here: {', '.join(absent) or 'none'}")
    values = sum(kept.spaces.values())
    click.echo(f"cache: {kept.path}, {values:,} values, {kept.size / 1e6:.0f} of {kept.limit / 1e6:.0f} MB")
    for record in records:
        if not record["ready"]:
            click.echo(f"\n{record['allows']}: pip install 'turnwise[{record['extra']}]'")
    if absent:
        click.echo(f"\nmodels: turnwise fetch {' '.join(absent)}")


def _record(extra: str, allows: str, packages: list[str]) -> dict[str, Any]:
    """An extra: what it allows, its packages with their versions, and whether all are installed."""
    found = {name: _version(name) for name in packages}
    return {"extra": extra, "allows": allows, "ready": all(found.values()), "packages": found}


def _version(package: str) -> str | None:
    """The installed version of a package; None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _versions(record: dict[str, Any]) -> str:
    """`name=version` of each package of an extra, `?` for those that are not installed."""
    return " ".join(f"{name}={found or '?'}" for name, found in record["packages"].items())
