"""`python -m tools.make_api`: writes docs/api.md, the promised names of the package with their docstrings, the table of
options at the end of each command's page, and in `turnwise/__init__.py` the names that the commands make public, with
the paragraph on them.

A test holds the files equal to what this writes.
"""

import ast
import importlib
import importlib.util
import inspect
import io
import re
import textwrap
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import turnwise
from tools.written import write
from turnwise.commands import COMMANDS
from turnwise.records import Part, record
from turnwise.settings.option import Setting, bare, settings

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "api.md"
PACKAGE = Path(__file__).parents[1] / "src" / "turnwise" / "__init__.py"
PAGES = {
    "doctor": "ls",
    "fetch": "models",
}  # command -> the page that has its options, if it has none of its own
# Function -> the option of the command of its module that does the same, where the command itself does something else.
BY_OPTION = {"demo_corpus": "--corpus", "export_ratings": "--export", "harden": "--harden"}
ABOUT = (
    "Every command is a function with typed parameters and a typed result: "  # begins the paragraph on them
)
NAMES_BEGIN, NAMES_END = (
    "# from `__all__` of the modules of the commands: python -m tools.make_api\n",
    "# end\n",
)
BEGIN, END = "<!-- options of {}: python -m tools.make_api -->", "<!-- end of options -->"
MODULES = {  # the public boundary; a name that is not in one of these is not promised
    "turnwise": "The commands as functions, their results, the errors and the types of dialogues",
    "turnwise.testing": "Checks for the tests of plugins",
    "turnwise.plugins": "What a package needs to add a metric, an estimator, a reader, an agent, a world or a trainer",
}
HEAD = """# The library

The names on this page are public. A public name that is going to be removed or changed is deprecated for one minor
version first.

| module | promised |
|---|---|
| `turnwise` | all names on this page: the commands as functions, their results, the errors, the types of dialogues |
| `turnwise.plugins` | all names on this page: the protocols, types and errors that a plugin needs |
| `turnwise.testing` | all names on this page: the checks of plugins |
| `turnwise.types`, `turnwise.protocols`, `turnwise.errors` | what the modules above export: import it from those |
| every other module | nothing: it is internal and may change without notice |

`python -m tools.make_api` writes this page from the signatures and docstrings. Signatures are checked by mypy in strict
mode, and a call with a wrong keyword or a value of a wrong type raises `UsageError` before any work is done.

`Data` is a path, a list of paths, dialogues as dicts in [the native format](format.md), `Dialogue` objects, a pandas or
polars DataFrame, or a Hugging Face Dataset. The columns of a table are keys of the native format; `messages` is the one
that it must have. A parameter that takes names takes one name, several names separated by commas, or a list.

A result iterates as one dict for each record of results.json, and `len` counts them. It prints as a table, followed by
what was not scored and why. A notebook shows the table with its figures. `to_pandas()` and `to_polars()` return data
frames. A type checker cannot check the keys and values of records, which differ from command to command; it checks
`findings`, the same results as typed objects.

A function has the name of its command, except where the name is taken: `turnwise meta` is `meta_evaluate`, and
`turnwise.meta` is an internal module.
"""
KINDS: dict[str, Callable[[Any], bool]] = {
    "Functions": inspect.isfunction,
    "Errors": lambda value: inspect.isclass(value) and issubclass(value, BaseException),
    "Types": lambda value: inspect.isclass(value) and not issubclass(value, BaseException),
    "Values": lambda value: get_origin(value) is Literal,
}


def public(name: str) -> dict[str, Any]:
    """The public names of a module: its `__all__`, else what it defines without an underscore."""
    module = importlib.import_module(name)
    names = getattr(module, "__all__", None)
    if names is None:
        defined = {key: value for key, value in vars(module).items() if not key.startswith("_")}
        return {key: value for key, value in defined.items() if getattr(value, "__module__", None) == name}
    return {key: getattr(module, key) for key in names if not key.startswith("_")}


def summary(value: Any) -> str:
    """The first paragraph of the docstring, unless a dataclass wrote it."""
    text = value.__doc__ or ""
    if inspect.isclass(value) and text.startswith(f"{value.__name__}("):
        return ""
    return " ".join(inspect.cleandoc(text).split("\n\n")[0].split())


def description(function: Any) -> str:
    """The docstring without its list of parameters."""
    text, _, _ = inspect.cleandoc(function.__doc__ or "").partition("\nParameters:\n")
    return text.strip()


def parameters(function: Any) -> dict[str, str]:
    """Name -> the lines of the docstring about this parameter."""
    _, _, explained = inspect.cleandoc(function.__doc__ or "").partition("Parameters:\n")
    found: dict[str, str] = {}
    name = ""
    for line in textwrap.dedent(explained).splitlines():
        if line.startswith(" "):  # goes on
            found[name] += f" {line.strip()}"
        elif line:
            name, _, found[name] = line.partition(": ")
    return found


def annotation(value: Any) -> str:
    """An annotation as a reader writes it."""
    text = value if isinstance(value, str) else inspect.formatannotation(value)
    text = re.sub(r"(?:typing|collections\.abc|pathlib|turnwise(?:\.\w+)*)\.", "", text)
    text = re.sub(r"\bnp\.", "numpy.", text)
    text = re.sub(r"numpy\.ndarray\[tuple\[Any, \.\.\.\], numpy\.dtype\[numpy\.float64\]\]", "Floats", text)
    return re.sub(r"Optional\[(.*)\]$", r"\1 | None", text)


def function_lines(name: str, function: Any) -> Iterator[str]:
    signature, explained = inspect.signature(function), parameters(function)
    yield f"### {name}\n"
    yield f"{description(function)}\n"
    yield f"Returns `{annotation(signature.return_annotation)}`. {_by_name(signature)}".rstrip() + "\n"
    yield "| parameter | type | default | meaning |\n|---|---|---|---|"
    for one in signature.parameters.values():
        default = "required" if one.default is inspect.Parameter.empty else f"`{one.default!r}`"
        kind = annotation(one.annotation).replace("|", "\\|")
        yield f"| `{one.name}` | `{kind}` | {default} | {explained.get(one.name, '').replace('|', chr(92) + '|')} |"
    yield ""


def _by_name(signature: inspect.Signature) -> str:
    """Which parameters may be given without their names."""
    bare = [f"`{one.name}`" for one in signature.parameters.values() if one.kind is not one.KEYWORD_ONLY]
    if len(bare) == len(signature.parameters):
        return ""
    return (
        f"All parameters are given by name, except {' and '.join(bare)}."
        if bare
        else "All parameters are given by name."
    )


def fields(value: Any) -> Iterator[tuple[str, str, str]]:
    """Name, type with the default, and meaning of each annotated attribute that the class itself declares; of a result,
    also of those that its bases declare.
    """
    of_a_result = issubclass(value, Part)
    for kind in reversed(value.__mro__) if of_a_result else (value,):
        if not of_a_result or issubclass(kind, Part):
            yield from declared(kind)


def declared(value: Any) -> Iterator[tuple[str, str, str]]:
    """The attributes that the class itself declares, as in `fields`.

    The meaning is the text under the attribute, or the comment on its lines.
    """
    try:
        source = textwrap.dedent(inspect.getsource(value))
    except (OSError, TypeError):
        return
    comments = _comments(source)
    body = next(one for one in ast.parse(source).body if isinstance(one, ast.ClassDef)).body
    for one, after in zip(body, [*body[1:], None], strict=True):
        if not isinstance(one, ast.AnnAssign) or not isinstance(one.target, ast.Name):
            continue
        name = one.target.id
        if name.startswith("_"):
            continue
        lines = range(one.lineno, (one.end_lineno or one.lineno) + 1)
        meaning = " ".join(comments[line] for line in lines if line in comments)
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            meaning = " ".join(str(after.value.value).split())
        of_the_class = ast.unparse(one.annotation).startswith("ClassVar")
        if of_the_class and not meaning and not getattr(value, "_is_protocol", False):
            continue
        default = "" if one.value is None or of_the_class else f" = {_default(one.value, value)}"
        yield name, f"{_plain(ast.unparse(one.annotation))}{default}", meaning


def _default(value: ast.expr, of: Any) -> str:
    """The default of an attribute of class `of` as it is written; for a factory, what it makes."""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "field":
        given = {one.arg: one.value for one in value.keywords}
        if "default_factory" in given:
            factory = ast.unparse(given["default_factory"])
            of_a_result = issubclass(of, Part) and hasattr(record, factory)
            return repr(getattr(record, factory)()) if of_a_result else f"{factory}()"
    return ast.unparse(value)


def _comments(source: str) -> dict[int, str]:
    """Number of a line -> its comment; remarks for tools are left out."""
    found = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not re.match(r"# (type|fmt|noqa)", token.string):
            found[token.start[0]] = token.string.removeprefix("#").strip()
    return found


def _plain(kind: str) -> str:
    """A type without the marks that are not for readers."""
    kind = re.sub(r"^ClassVar\[(.*)\]$", r"\1", kind)
    return re.sub(r"^Annotated\[(.*), \w+\]$", r"\1", kind)


def class_lines(name: str, value: Any) -> Iterator[str]:
    yield f"* `{name}`: {summary(value)}".rstrip(": ")
    for field, kind, meaning in fields(value):
        yield f"    * `{field}` (`{kind}`): {meaning}".rstrip(": ")
    own = {**vars(value)}
    for attribute, member in own.items():
        if attribute.startswith("_"):
            continue
        if isinstance(member, property) and summary(member):
            yield f"    * `{attribute}`: {summary(member)}"
        elif inspect.isfunction(member) and summary(member):
            yield f"    * `{attribute}{_typed(member)}`: {summary(member)}"


def lines() -> Iterator[str]:
    yield HEAD
    for module, about in MODULES.items():
        if importlib.util.find_spec(module) is None:
            continue
        yield f"## {module}\n\n{about}.\n"
        found = public(module)
        for kind, belongs in KINDS.items():
            mine = {name: value for name, value in found.items() if belongs(value)}
            if not mine:
                continue
            detailed = kind == "Functions" and module == "turnwise"
            if not detailed:
                yield f"### {kind} of {module}\n"
            for name, value in mine.items():
                if kind == "Values":
                    yield f"* `{name}`: {', '.join(f'`{one}`' for one in get_args(value))}"
                elif detailed:
                    yield from function_lines(name, value)
                elif kind == "Functions":
                    yield f"* `{name}{_bare(value)}`: {summary(value)}".rstrip(": ")
                else:
                    yield from class_lines(name, value)
            yield ""


def _typed(method: Any) -> str:
    """The parameters of a method without `self`, and what it returns, with their types."""
    found = inspect.signature(method)
    parts: list[str] = []
    for one in list(found.parameters.values())[1:]:
        if one.kind is one.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        kind = "" if one.annotation is one.empty else f": {annotation(one.annotation)}"
        parts.append(f"{one.name}{kind}" + ("" if one.default is one.empty else f" = {one.default!r}"))
    returned = found.return_annotation
    return f"({', '.join(parts)})" + ("" if returned is found.empty else f" -> {annotation(returned)}")


def _bare(function: Any) -> str:
    found = inspect.signature(function)
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in found.parameters.values()]
    shown = str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    # Defaults that are objects show an address, which differs from run to run.
    return re.sub(r"<[^<>]*(?:<[^<>]*>[^<>]*)*>", "...", shown)


def options(name: str) -> str:
    """The options of a command as a table; the names without dashes are keys of a config file."""
    command = importlib.import_module(f"turnwise.commands.{name}").COMMAND
    rows = ["| option | meaning | default |", "|---|---|---|"]
    for one in (*settings(command), *settings(command.screen_class)):
        if not one.option.only_python:
            meaning = one.option.help.replace("|", "\\|")
            rows.append(f"| {_option(one)} | {meaning} | {_option_default(one)} |")
    return "\n".join(rows)


def _option(one: Setting) -> str:
    """The flags of a setting with the form of its value, as code."""
    kind = bare(one.kind)
    value = "" if kind in (bool, bool | None) else one.option.metavar or _value(kind)
    flags = [f"{flag} {value}".strip() if flag.startswith("-") else flag for flag in one.flags]
    return ", ".join("`{}`".format(flag.replace("|", "\\|")) for flag in flags)


def _value(kind: Any) -> str:
    """The form of a value: the choices, or a letter for a number."""
    choices = [
        value for part in (kind, *get_args(kind)) if get_origin(part) is Literal for value in get_args(part)
    ]
    if choices:
        return "|".join(choices)
    numbers = {int, float} & {kind, *get_args(kind)}
    return "N" if int in numbers else "X" if numbers else "TEXT"


def _option_default(one: Setting) -> str:
    """The default in words; empty where there is none."""
    if one.required:
        return "required"
    if one.option.default or bare(one.kind) in (bool, bool | None):
        return one.option.default
    value = ",".join(one.default) if isinstance(one.default, tuple) else one.default
    return f"`{value}`" if value not in (None, "") else ""


def with_options(name: str, text: str) -> str:
    """The text of a page with the present table of a command's options.

    A page without a table gets one at the end of the section on options; it gets that section where it has none.
    """
    begin = BEGIN.format(name)
    if begin not in text:
        title = "## Options" if PAGES.get(name, name) == name else f"## Options of `turnwise {name}`"
        text = f"{text.rstrip()}\n"
        if f"\n{title}\n" not in text:
            text += f"\n{title}\n"
        before, _, section = text.partition(f"\n{title}\n")
        section, next_title, after = section.partition("\n## ")
        section = f"{section.strip()}\n\n" if section.strip() else ""
        text = f"{before}\n{title}\n\n{section}{begin}\n{END}\n{next_title}{after}"
    head, _, rest = text.partition(begin)
    _, _, tail = rest.partition(END)
    return f"{head}{begin}\n\n{options(name)}\n\n{END}{tail}"


def pages() -> dict[Path, str]:
    """Each file that this writes, with its text."""
    texts = {PACKAGE: package(), PAGE: page()}
    for name in COMMANDS:
        path = DOCS / f"{PAGES.get(name, name)}.md"
        texts[path] = with_options(name, texts.get(path) or path.read_text())
    return texts


def names_of_commands() -> dict[str, str]:
    """Module -> what it makes public, of each command that makes something public."""
    modules = {f"commands.{name}": importlib.import_module(f"turnwise.commands.{name}") for name in COMMANDS}
    return {
        home: " ".join(sorted(modules[home].__all__)) for home in sorted(modules) if modules[home].__all__
    }


def about_functions() -> str:
    """The functions of the commands with the names of these, in words."""
    same, others = [], []
    for command in COMMANDS:
        module = importlib.import_module(f"turnwise.commands.{command}")
        for name in module.__all__:
            if not inspect.isfunction(getattr(module, name)):
                continue
            if name == command:
                same.append(f"`{name}`")
            elif name == module.COMMAND.public_name():
                others.append(f"`{name}` is `turnwise {command}`")
            else:
                others.append(f"`{name}` is `turnwise {command} {BY_OPTION[name]}`")
    return (
        f"{', '.join(same[:-1])} and {same[-1]} have the names of their commands; {', '.join(others)}; `judge` makes a "
        "judge of a function. Errors are raised, and nothing is printed unless `progress=True`. Nothing is loaded "
        "before it is used: a command needs one module, and all take .1 s."
    )


def wrapped(text: str) -> str:
    """Lines of at most 120 characters that do not break code."""
    whole = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "\0"), text)
    return textwrap.fill(whole, 120, break_on_hyphens=False, break_long_words=False).replace("\0", " ")


def package() -> str:
    """The source of the package with the present table of what the commands make public, its imports, and the
    paragraph of its docstring.
    """
    source = PACKAGE.read_text()
    before, _, after = source.partition(ABOUT)
    _, _, after = after.partition("\n\n")
    source = f"{before}{wrapped(ABOUT + about_functions())}\n\n{after}"
    head, _, rest = source.partition(NAMES_BEGIN)
    _, _, tail = rest.partition(NAMES_END)
    of_commands = names_of_commands()
    table = "".join(f'    "{home}": "{names}",\n' for home, names in of_commands.items())
    homes = sorted((turnwise._TYPES | of_commands).items())
    imports = "".join(
        f"    from turnwise.{home} import {name} as {name}\n"
        for home, names in homes
        for name in names.split()
    )
    return f"{head}{NAMES_BEGIN}_COMMANDS = {{\n{table}}}\nif TYPE_CHECKING:\n{imports}{NAMES_END}{tail}"


def page() -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines())).rstrip() + "\n"


def check() -> None:
    """End with a message if a command has no page, or a public name is a package's, before anything is written."""
    for name in " ".join(names_of_commands().values()).split():
        if (PACKAGE.parent / name).is_dir() or (PACKAGE.parent / f"{name}.py").exists():
            raise SystemExit(
                f"turnwise.{name} is a module: call the function of the command otherwise, "
                f'`function: ClassVar[str] = "..."`'
            )
    for name in COMMANDS:
        path = DOCS / f"{PAGES.get(name, name)}.md"
        if not path.exists():
            raise SystemExit(
                f"write {path.relative_to(DOCS.parent)} first: a title and a sentence on `turnwise {name}`"
            )


if __name__ == "__main__":
    check()
    write(PACKAGE, package())
    importlib.reload(turnwise)  # the page lists its names
    for path, text in pages().items():
        write(path, text)
