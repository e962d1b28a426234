"""What is installed, and what each missing extra would add."""

import platform as machine
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import ClassVar

from turnwise import __version__
from turnwise.commands.function import function
from turnwise.commands.screen import Formatted, Screen, print_json
from turnwise.extras import CORE, EXTRAS, install
from turnwise.report.fitting import Layout, sized
from turnwise.settings.groups import Command, Restated, Resumption
from turnwise.terminal import say

EXTRAS_LAYOUT = Layout(names=("extra",), results=("state",), prose=("allows", "packages"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """A part of turnwise that is installed by name: `pip install 'turnwise[NAME]'`; `core` is always installed."""

    name: str
    allows: str  # what it adds
    packages: Mapping[str, str | None]  # package -> installed version, None if it is missing

    @property
    def ready(self) -> bool:
        """Whether all of its packages are installed."""
        return all(self.packages.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What `doctor` found: versions, extras, models and the cache."""

    turnwise: str  # version
    python: str  # version
    platform: str
    extras: tuple[Extra, ...]
    weights: Mapping[str, Path | None]  # model -> its folder, None if it is not fetched
    cache: Path
    cache_bytes: int
    cache_limit: int  # bytes
    cache_values: Mapping[str, int]  # cached values by encoder or judge

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of the extras that are not installed."""
        return tuple(one.name for one in self.extras if not one.ready)

    def __str__(self) -> str:
        """A table of the extras, the models, the cache, and how to install what is missing."""
        rows = [
            [one.name, "ready" if one.ready else "missing", one.allows, _versions(one)] for one in self.extras
        ]
        here = [name for name, folder in self.weights.items() if folder]
        absent = [name for name, folder in self.weights.items() if not folder]
        values, used, limit = sum(self.cache_values.values()), self.cache_bytes / 1e6, self.cache_limit / 1e6
        lines = [
            f"turnwise {self.turnwise}, Python {self.python}, {self.platform}\n",
            sized(rows, ["extra", "state", "allows", "packages"], EXTRAS_LAYOUT),
            f"\nweights here: {', '.join(here) or 'none'}; not here: {', '.join(absent) or 'none'}",
            f"cache: {self.cache}, {values:,} values, {used:.0f} of {limit:.0f} MB",
            *(f"\n{one.allows}: {install(one.name)}" for one in self.extras if not one.ready),
        ]
        if absent:
            lines.append(f"\nmodels: turnwise fetch {' '.join(absent)}")
        return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class Checkup(Formatted, Screen):
    """Settings of the command line of `doctor`."""

    # Accepted as by other commands, without effect.
    restated: ClassVar[Restated] = {
        "quiet": {"help": "Nothing is left out.", "hidden": True},
        "verbose": {"help": "There is nothing more.", "hidden": True},
    }


@dataclass(frozen=True, kw_only=True)
class Doctor(Command):
    """What is installed, and what each missing extra would add."""

    command: ClassVar[str] = "doctor"
    screen_class = Checkup
    configurable: ClassVar[bool] = False
    resumption: ClassVar[Resumption] = "never"

    def run(self) -> Installation:
        """Look at what is installed."""
        from turnwise.encode.cache.disk import Cache
        from turnwise.encode.models.catalogue import fetched

        kept = Cache().stats()
        return Installation(
            turnwise=__version__,
            python=machine.python_version(),
            platform=machine.platform(),
            extras=tuple(
                Extra(
                    name=name,
                    allows=contents.allows,
                    packages={package: _version(package) for package in contents.packages},
                )
                for name, contents in {"core": CORE, **EXTRAS}.items()
            ),
            weights={model.name: Path(folder) if folder else None for model, folder in fetched()},
            cache=Path(kept.path),
            cache_bytes=kept.size,
            cache_limit=kept.limit,
            cache_values=dict(kept.spaces),
        )

    def show(self, installation: Installation, screen: Checkup) -> None:
        """Print what is installed."""
        if screen.style != "json":
            say(str(installation))
            return
        extras = [
            {"extra": extra.name, "allows": extra.allows, "ready": extra.ready, "packages": extra.packages}
            for extra in installation.extras
        ]
        print_json(
            {
                "turnwise": installation.turnwise,
                "python": installation.python,
                "extras": extras,
                "weights": {
                    name: str(folder) if folder else None for name, folder in installation.weights.items()
                },
                "cache": {
                    "path": str(installation.cache),
                    "bytes": installation.cache_bytes,
                    "limit": installation.cache_limit,
                    "spaces": installation.cache_values,
                },
            }
        )


def _version(package: str) -> str | None:
    """The installed version of a package; None if it is not installed."""
    try:
        return installed_version(package)
    except PackageNotFoundError:
        return None


def _versions(extra: Extra) -> str:
    """`name=version` of each package of an extra, `?` for those that are not installed."""
    return " ".join(f"{name}={found or '?'}" for name, found in extra.packages.items())


COMMAND = Doctor
doctor = function(Doctor)
__all__ = ["Extra", "Installation", "doctor"]
