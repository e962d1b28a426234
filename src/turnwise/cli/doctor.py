"""`turnwise doctor`."""

import click

from turnwise.cli.common import options
from turnwise.terminal import say


@click.command(name="doctor")
@options.style
@click.option("-q", "--quiet", is_flag=True, hidden=True)  # accepted as by other commands, without effect
@click.option("-v", "--verbose", is_flag=True, hidden=True)
def command(style: str, quiet: bool, verbose: bool) -> None:
    """What is installed, and what each missing extra would add."""
    from turnwise.cli.common.printed import print_json
    from turnwise.library import doctor

    found = doctor()
    if style != "json":
        say(str(found))
        return
    extras = [
        {"extra": one.name, "allows": one.allows, "ready": one.ready, "packages": one.packages}
        for one in found.extras
    ]
    document = {
        "turnwise": found.turnwise,
        "python": found.python,
        "extras": extras,
        "weights": {name: str(folder) if folder else None for name, folder in found.weights.items()},
        "cache": {
            "path": str(found.cache),
            "bytes": found.cache_bytes,
            "limit": found.cache_limit,
            "spaces": found.cache_values,
        },
    }
    print_json(document)
