"""Shows a text as Markdown: headings, lists, tables, code, emphasis and links; no HTML, no images, no other schemes.

Whatever the text contains, only elements that this module allows reach the page. Images would be loaded from elsewhere,
which the pages do not allow, so their text is shown. Links open in a new window and send no referrer.
"""

from functools import cache, lru_cache
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markupsafe import Markup

_SCHEMES = ("http", "https", "mailto")


@lru_cache(maxsize=1024)  # the instructions are on every page, and a context on the pages of many raters
def markdown(text: str) -> Markup:
    """The text as safe HTML."""
    return Markup(_parser().render(text))


@cache
def _parser() -> MarkdownIt:
    """The parser, which escapes HTML and keeps single line breaks."""
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable("table").disable("image")
    parser.validateLink = _is_allowed  # type: ignore[method-assign]

    def open_link(self: object, tokens: list, index: int, options: object, env: object) -> str:  # type: ignore[type-arg]
        """The start of a link."""
        token = tokens[index]
        token.attrSet("rel", "noopener noreferrer nofollow")
        token.attrSet("target", "_blank")
        return str(parser.renderer.renderToken(tokens, index, options, env))  # type: ignore[attr-defined]

    parser.add_render_rule("link_open", open_link)
    return parser


def _is_allowed(url: str) -> bool:
    """Whether a link may have this address: of the web or of mail."""
    try:
        return urlsplit(url.strip()).scheme.lower() in _SCHEMES
    except ValueError:
        return False
