"""A rater without a browser: parses the forms of a page and sends them with changed fields."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any


@dataclass
class Form:
    action: str
    fields: dict[str, str] = field(default_factory=dict)  # what is sent if nothing is changed
    choices: dict[str, list[str]] = field(default_factory=dict)  # of radio buttons
    open: list[str] = field(default_factory=list)  # names of text and number fields
    buttons: list[tuple[str, str]] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.text: list[str] = []
        self._area: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        name, value = values.get("name", ""), values.get("value", "")
        if tag == "form":
            self.forms.append(Form(values.get("action", "")))
        elif tag == "textarea":
            self.forms[-1].open.append(name)
            self.forms[-1].fields[name] = ""
            self._area = name
        elif tag == "input" and values.get("type") == "radio":
            self.forms[-1].choices.setdefault(name, []).append(value)
            if "checked" in values:
                self.forms[-1].fields[name] = value
        elif tag == "input" and values.get("type") == "checkbox":
            if "checked" in values:
                self.forms[-1].fields[name] = value
        elif tag == "input":
            self.forms[-1].fields[name] = value
            if values.get("type") != "hidden":
                self.forms[-1].open.append(name)
        elif tag == "button" and name:
            self.forms[-1].buttons.append((name, value))

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = None

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self.forms[-1].fields[self._area] += data
        self.text.append(data)


def read(html: str) -> tuple[list[Form], str]:
    """The forms of a page, and its text."""
    reader = _Reader()
    reader.feed(html)
    return reader.forms, "".join(reader.text)


class Visitor:
    """A person who opens a link of the rating app."""

    def __init__(self, client: Any, path: str) -> None:
        self.client, self.path = client, path
        self.look()

    def look(self, path: str | None = None) -> "Visitor":
        return self._arrive(self.client.get(path or self.path))

    def send(self, changes: Mapping[str, str] | None = None, *, form: str = "") -> "Visitor":
        """Send the page's form (whose action ends in `form`) with these fields changed."""
        wanted = next(one for one in self.forms if one.action.endswith(form))
        self.last = (wanted.action or self.path, {**wanted.fields, **(changes or {})})
        return self.again()

    def again(self) -> "Visitor":
        """Send the last form again, as a double click does."""
        return self._arrive(self.client.post(self.last[0], data=self.last[1]))

    def _arrive(self, response: Any) -> "Visitor":
        self.status, self.html = response.status_code, response.text
        self.forms, self.text = (
            read(self.html) if "html" in response.headers["content-type"] else ([], self.html)
        )
        return self

    @property
    def is_asked(self) -> bool:
        """Whether there is something to answer on the page."""
        return any(form.choices or form.open for form in self.forms)
