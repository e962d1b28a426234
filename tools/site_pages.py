"""Hook of MkDocs (mkdocs.yml): adds pages from outside of docs/ to the site and makes links work there.

* The papers' pages, the README, the changelog and the contributors' pages are read from their places.
* The pages of the API reference hold one directive of mkdocstrings each, and are made here.
* For programs there are llms.txt, every page as Markdown, and the JSON Schemas in schemas/.
* A page of how-to counts most in the search, a paper's page least.
* A link that works in the repository's file view works on the site: it leads to the page, or to the file on the forge.
"""

import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import turnwise
from turnwise.run.schemas import SCHEMAS

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"(^```.*?^```[^\n]*$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?![a-z]+:|#|/)([^)\s#]+)(#[^)\s]*)?\)")
PICTURE = re.compile(r'(?<=")docs/(?=images/)')  # in HTML, which MkDocs leaves as it is
# Path in the repository -> path on the site
PAGES = {
    "README.md": "first-result.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    **{f"papers/{one.name}": f"papers/{one.name}" for one in sorted((ROOT / "papers").glob("*.md"))},
    **{
        f"papers/figures/{one.name}": f"papers/figures/{one.name}"
        for one in (ROOT / "papers/figures").iterdir()
    },
}
SOURCES = {page: source for source, page in PAGES.items()}
PUBLIC = (
    "turnwise",
    "turnwise.plugins",
    "turnwise.testing",
    "turnwise.protocols",
    "turnwise.types",
    "turnwise.errors",
)
BACKGROUND = (
    "api.md",
    "changelog.md",
    "decisions.md",
    "contributing.md",
    "security.md",
    "code-of-conduct.md",
)
# Page -> what people call it who look for it; the search counts these words far above those of the text.
CALLED = {
    "adem.md": ("ADEM",),
    "agents-with-tools.md": ("tool calls", "function calling", "agents with tools", "trajectories"),
    "attack-a-judge.md": ("prompt injection", "jailbreak a judge", "attack a judge"),
    "attack.md": ("attack a metric", "game a metric", "gaming", "adversarial", "robust metric"),
    "calibrate.md": ("prediction-powered inference", "calibrate a judge", "few ratings"),
    "ci.md": ("CI", "GitHub Actions", "GitLab", "pytest", "regression test", "pull request", "quality gate"),
    "commands.md": ("commands", "CLI", "command line"),
    "compare-preferences.md": ("preferences", "pairwise", "win rate", "Bradley-Terry", "Elo", "arena"),
    "compare-ratings.md": ("compare ratings", "compare people's ratings"),
    "compare.md": ("compare two agents", "A/B test", "significance"),
    "convert.md": (
        "import",
        "CSV",
        "Parquet",
        "LangChain",
        "LangGraph",
        "Hugging Face dataset",
        "OpenAI",
    ),
    "demo.md": ("demo",),
    "diff.md": ("regression", "two versions", "has it got worse"),
    "export.md": ("export", "Langfuse", "LangSmith", "OpenTelemetry", "LaTeX"),
    "extend.md": ("custom metric", "write a plugin", "plugin", "own metric", "own reader"),
    "format.md": ("format", "JSONL", "schema"),
    "glossary.md": ("glossary", "terms"),
    "judge.md": (
        "LLM as a judge",
        "LLM judge",
        "hallucination",
        "faithfulness",
        "rubric",
        "G-Eval",
        "OpenAI",
        "Ollama",
    ),
    "leaderboard.md": ("leaderboard", "which bot is best", "rank several agents", "ties"),
    "learned.md": ("learned metric", "turnwise metric", "reference-free"),
    "meta.md": ("correlation with people", "correlation with humans", "agreement with people", "Spearman"),
    "models.md": ("GPU", "models", "download", "offline", "weights", "air gap"),
    "ope.md": ("off-policy evaluation", "OPE", "ENIGMA", "DICE"),
    "play.md": ("simulated users", "simulate a user", "scenarios", "user simulator", "multi-turn test"),
    "power.md": ("how many ratings", "sample size", "power", "how many dialogues"),
    "rate-crowd.md": ("crowd", "Prolific", "Mechanical Turk", "MTurk"),
    "rate.md": ("annotation", "label", "human evaluation", "rating app"),
    "ratings.md": ("inter-annotator agreement", "raters", "Krippendorff", "kappa"),
    "reliability.md": ("pass^k", "pass@k", "several trials of a task", "flaky", "every time"),
    "report.md": ("report", "HTML", "figures", "plots"),
    "scale.md": ("million dialogues", "big data", "Ray", "cluster", "parallel"),
    "score.md": ("BLEU", "ROUGE", "perplexity", "score replies", "BERTScore", "metrics"),
    "statistics.md": ("p value", "p-value", "confidence interval", "bootstrap", "multiple comparisons"),
    "train.md": ("train", "train on my ratings", "fine-tune"),
    "trust.md": ("which metric", "choose a metric", "what metric should I use", "trust"),
    "unrated.md": ("no ratings", "unrated agent", "new bot", "without ratings"),
    "view.md": ("view dialogues", "browse logs", "viewer"),
}
# A heading, HTML, a block, a table, a picture, a list.
NO_TEXT = re.compile(r"\s*(#|<|```|\||!|[*-] |\d+\. )")
ENOUGH = 60  # characters after which a description ends with its sentence
MARKDOWN: dict[str, str] = {}  # path on the site -> text with links as on the site, of this build
MEMBER = "    options: {show_root_heading: true, show_root_full_path: false, show_root_toc_entry: true}"


def reference_pages() -> dict[str, str]:
    """Path on the site -> text, for each public module that exists."""
    found = {}
    for module in PUBLIC:
        place = ROOT / "src" / module.replace(".", "/")
        if place.with_suffix(".py").exists() or (place / "__init__.py").exists():
            found[f"reference/{module}.md"] = f"# {module}\n\n::: {module}\n"
    found["reference/turnwise.md"] = top_page()
    return found


def top_page() -> str:
    """The page of `turnwise`: its functions, then its classes, each in the order of `__all__`."""
    functions = [name for name in turnwise.__all__ if name[0].islower()]
    classes = [name for name in turnwise.__all__ if name[0].isupper()]
    others = ", ".join(f"[{name}]({name}.md)" for name in PUBLIC[1:])
    parts = [
        "# turnwise",
        f"Other public modules: {others}.",
        f"::: turnwise\n    options: {{members: [{', '.join(functions)}]}}",
    ]
    return "\n\n".join([*parts, *(f"::: turnwise.{name}\n{MEMBER}" for name in classes)]) + "\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    for page, text in reference_pages().items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> str:
    path = page.file.src_uri
    page.meta["search"] = {"boost": search_weight(path, config.nav or ())}
    page.meta["tags"] = list(CALLED.get(path, ()))
    MARKDOWN[path] = rewrite_links(markdown, path, str(config.repo_url))
    return MARKDOWN[path]


def on_post_build(config: MkDocsConfig) -> None:
    about = str(config.site_description), str(config.site_url)
    for path, text in for_programs(config.nav or (), MARKDOWN, *about).items():
        place = Path(config.site_dir) / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def for_programs(nav: Sequence[Any], pages: Mapping[str, str], description: str, site: str) -> dict[str, str]:
    """Path on the site -> text: llms.txt, each page as Markdown (those of the reference have none), and the schemas."""
    written = {path: text for path, text in pages.items() if not path.startswith("reference/")}
    schemas = {
        f"schemas/{name}.json": json.dumps(one.make(), indent=1) + "\n" for name, one in SCHEMAS.items()
    }
    return {"llms.txt": llms(nav, written, description, site), **written, **schemas}


def llms(nav: Sequence[Any], pages: Mapping[str, str], description: str, site: str) -> str:
    """The text of llms.txt: each page of the navigation (`pages`: path -> Markdown) with how it begins."""
    lines = ["# turnwise", "", f"> {description}", ""]
    lines += [_first_paragraph(pages["index.md"]), ""]
    for entry in nav:
        for title, below in entry.items():
            if isinstance(below, str):  # the home page, which is above
                continue
            listed = [one for one in _leaves(title, below) if one[1] in pages]
            lines += [f"## {title}", "", *(_line(*one, pages, site) for one in listed), ""]
    return "\n".join(lines).rstrip() + "\n"


def _leaves(title: str, below: Any) -> Iterator[tuple[str, str]]:
    """Title and path of each page under an entry of the navigation."""
    if isinstance(below, str):
        yield title, below
        return
    for entry in below:
        for name, inner in entry.items():
            yield from _leaves(name, inner)


def _line(title: str, path: str, pages: Mapping[str, str], site: str) -> str:
    """The line of a page: its title, its address as Markdown, and how it begins."""
    beginning = ""
    for sentence in re.split(r"(?<=[.?!:])\s+", _first_paragraph(pages[path])):
        if len(beginning) < ENOUGH:
            beginning = f"{beginning} {sentence}".strip()
    return f"- [{title}]({posixpath.join(site, path)}): {beginning}".rstrip(": ")


def _first_paragraph(markdown: str) -> str:
    """The first paragraph of a page that is plain text, as one line and without links; "" if it has none."""
    for block in re.split(r"\n\s*\n", markdown):
        if block.strip() and not NO_TEXT.match(block):
            return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(block.split())).replace("**", "")
    return ""


def search_weight(page: str, nav: Sequence[Any]) -> float:
    """What a page counts in the search: who looks for a word wants to do something first, and to check us last."""
    if page.startswith(("papers/", "reference/")) or page in BACKGROUND:
        return 0.2
    how_to = next((section["How-to"] for section in nav if "How-to" in section), ())
    return 2.0 if any(page in entry.values() for entry in how_to) else 1.0


def rewrite_links(markdown: str, page: str, forge: str) -> str:
    """The text of a page with every relative link, outside of fenced blocks, as it must be on the site."""
    source = SOURCES.get(page, f"docs/{page}")

    def on_site(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link[1]))
        if target in PAGES:
            place = PAGES[target]
        elif target.startswith("docs/"):
            place = target.removeprefix("docs/")
        elif (ROOT / target).exists():
            return f"]({forge.rstrip('/')}/blob/main/{target}{link[2] or ''})"
        else:
            return link[0]  # MkDocs reports it
        return f"]({posixpath.relpath(place, posixpath.dirname(page) or '.')}{link[2] or ''})"

    parts = FENCE.split(markdown)
    if source == "README.md":
        parts = [PICTURE.sub("../", part) for part in parts]
    return "".join(part if part.startswith("```") else LINK.sub(on_site, part) for part in parts)
