"""What does not fit a type of a scenario file, in words for who wrote the file."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import inspect

from turnwise.errors import nearest

# Type of a field -> what a file may have there, and its name.
_KINDS: dict[type[inspect.Type], tuple[Any, str]] = {
    inspect.StrType: (str, "a text"),
    inspect.BoolType: (bool, "true or false"),
    inspect.IntType: (int, "a whole number"),
    inspect.FloatType: (int | float, "a number"),
    inspect.ListType: (list | tuple, "a list"),
    inspect.DictType: (Mapping, "a mapping"),
    inspect.StructType: (Mapping, "a mapping"),
    inspect.AnyType: (object, "anything"),
}
_NAMES = {None: "nothing", True: "true", False: "false"}


def mistakes(value: Any, kind: inspect.Type, place: str) -> Iterator[tuple[str, str]]:
    """Yield the place of everything that does not fit the type, and what is wrong there."""
    kind = kind.type if isinstance(kind, inspect.Metadata) else kind
    choices = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    fitting = next((choice for choice in choices if _fits(value, choice)), None)
    match fitting:
        case None:
            expected = " or ".join(_KINDS[type(choice)][1] for choice in choices)
            advice = "; put it in quotes" if _is_number(value) and expected == "a text" else ""
            yield place, f"is wrong: expected {expected} and got {_name(value)}{advice}"
        case inspect.StructType(fields=fields):
            known = [field.encode_name for field in fields]
            for name in value:
                if name not in known:
                    yield f"{place}.{name}", f"is no key of this; {nearest(str(name), known)}"
            for field in fields:
                if field.encode_name in value:
                    yield from mistakes(value[field.encode_name], field.type, f"{place}.{field.encode_name}")
                elif field.required:
                    yield place, f"lacks `{field.encode_name}`"
        case inspect.ListType(item_type=inner):
            for index, part in enumerate(value):
                yield from mistakes(part, inner, f"{place}[{index}]")
        case inspect.DictType(value_type=inner):
            for name, part in value.items():
                yield from mistakes(part, inner, f"{place}.{name}")
        case inspect.StrType(min_length=least) if least is not None and len(value) < least:
            yield place, "is wrong: expected a text that is not empty"
        case inspect.IntType(ge=low, le=high) if not (low or value) <= value <= (high or value):
            yield place, f"is wrong: expected a whole number from {low} to {high}"


def _is_number(value: Any) -> bool:
    """Whether the value is a number, which true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _fits(value: Any, kind: inspect.Type) -> bool:
    """Whether the value is of this type, whatever is in it."""
    python, _ = _KINDS[type(kind)]
    is_truth = isinstance(kind, inspect.BoolType | inspect.AnyType)
    return isinstance(value, python) and (is_truth or not isinstance(value, bool))


def _name(value: Any) -> str:
    """What the value is."""
    if value is None or isinstance(value, bool):
        return _NAMES[value]
    return next((name for python, name in _KINDS.values() if isinstance(value, python)), "")
