"""The viewer's pages over HTTP: what they show, what they refuse, and that nothing in a log becomes markup."""

import json
import re
from html import unescape
from html.parser import HTMLParser

import pytest

from tests.made_runs import completed
from tests.web.viewer.conftest import TOKEN, exchange, rating
from turnwise.report.documents import AttackDocument
from turnwise.web.viewer.query import Query, Range

EVIL = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\"> & \"it's\" ]]> {{ 7*7 }}"


class Tags(HTMLParser):
    """The names and attributes of all tags of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def links(page: str) -> list[str]:
    return [unescape(found) for found in re.findall(r'href="([^"]+)"', page)]


def evil_dialogue(identity: str, other: str, agent: str) -> dict:
    """A record with hostile text in every field that is shown."""
    call = {"id": EVIL, "type": "function", "function": {"name": EVIL, "arguments": EVIL}}
    parts = [
        {"type": "text", "text": EVIL},
        {"type": "image_url", "image_url": {"url": EVIL}},
        {"type": EVIL, "data": EVIL},
    ]
    return {
        "id": identity,
        "agent": agent,
        "messages": [
            {"role": "system", "content": EVIL * 10},
            {"role": "user", "content": parts, EVIL: EVIL},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "content": EVIL, "name": EVIL, "tool_call_id": EVIL},
            {
                "role": "assistant", "content": EVIL, "references": [EVIL],
                "alternatives": {EVIL: [EVIL]}, "state": {EVIL: {EVIL: EVIL}}, "acts": [[EVIL, EVIL]],
                "outcome": {EVIL: 1.0},
            },
        ],
        "ratings": [
            {"dimension": EVIL, "value": 1, "rater": EVIL, "turn": 4, "scale": [0, 5], "comment": EVIL},
            {"dimension": EVIL, "value": 3, "rater": "ben", "turn": 4, "scale": [0, 5]},
            {"dimension": EVIL, "value": 2, "rater": EVIL},
        ],
        "preferences": [
            {"other": other, "winner": "this", "dimension": EVIL, "rater": EVIL, "turn": 4, EVIL: EVIL}
        ],
        "goal": {EVIL: EVIL},
        "meta": {EVIL: EVIL},
        EVIL: EVIL,
    }  # fmt: skip


def assert_harmless(page: str) -> None:
    """No tag of the page comes from a text: scripts, images, handlers and foreign addresses are absent."""
    tags = Tags(page).found
    assert {attributes.get("src") for tag, attributes in tags if tag == "script"} == {"/static/view.js"}
    assert not {tag for tag, _ in tags} & {"img", "iframe", "object", "embed", "style", "base"}
    for tag, attributes in tags:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], (
            tag,
            attributes,
        )
        for name in ("href", "src", "action"):
            if name in attributes:
                assert (attributes[name] or "").startswith(("/", "#")), attributes


def test_no_field_of_a_log_or_a_run_becomes_markup(visit, tmp_path, monkeypatch):
    from tests.web.viewer.test_view_scores import ran

    monkeypatch.chdir(tmp_path)
    records = [evil_dialogue(EVIL, EVIL + "2", EVIL), evil_dialogue(EVIL + "2", EVIL, EVIL + "b")]
    (tmp_path / "logs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    ran("score", "logs.jsonl", "-m", "length", "-o", "out")
    items = [json.loads(line) for line in (tmp_path / "out/items.jsonl").read_text().splitlines()]
    for item in items:
        item["scores"][EVIL] = 0.5
        item["unscored"] = {"length": {"status": "error", "reason": EVIL}}
        item |= {EVIL: EVIL, "reasons": {EVIL: EVIL}, "other": {EVIL: [EVIL]}}
    (tmp_path / "out/items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    results = json.loads((tmp_path / "out/results.json").read_text())
    strategy = {
        "metric": EVIL,
        "strategy": EVIL,
        "description": EVIL,
        "transcript": [[EVIL, EVIL]],
        "significant": True,
    }
    said = {**strategy, "people_said": [EVIL], "gain": 1.0}
    attack = {"schema_version": 1, "command": "attack", "results": [said], "origin": results["origin"]}
    (tmp_path / "out/attack").mkdir()
    (tmp_path / "out/attack/results.json").write_text(json.dumps(completed(AttackDocument, attack)))
    shown = visit("out")
    reply = [("unit", "reply")]
    pages = [
        shown.get(),
        shown.get("", [*reply, ("text", EVIL)]),
        shown.get("", [("agent", EVIL), ("sort", f"rating:{EVIL}"), ("show", f"rating:{EVIL}")]),
        shown.get("", [*reply, ("metric", f"metric:{EVIL}"), ("people", f"rating:{EVIL}"), ("sort", "gap")]),
        shown.get("", [("sort", EVIL)], status=400),
        shown.get("/dialogue", [("id", EVIL), ("turn", 4), ("text", EVIL)]),
        shown.get("/dialogue", [("id", "<b>")], status=400),
        shown.get("/dialogue", [("id", EVIL), ("turn", "<b>")], status=400),
        shown.get("/beside", [*reply, ("first", EVIL), ("second", EVIL + "b")]),
        shown.get("/attacks"),
    ]
    for page in pages[:4] + pages[5:6] + pages[8:]:
        assert_harmless(page)
        assert "&lt;script&gt;" in page
    for page in pages:
        assert "<img" not in page
        assert "<script>" not in page
        assert "49 " not in page  # `{{ 7*7 }}` is no template
    assert "1 context that both have" in pages[8]
    assert "length" in pages[5]


def test_hidden_and_direction_changing_characters_are_visible(visit):
    text = "stop\x1b[2J \x07 right\u202eleft tag\U000e0041 space\u200b nul\0 c1\x9b"
    shown = visit(exchange("a\x1b", "b\u202e", "q", text))
    page = shown.get("/dialogue", [("id", "a\x1b")])
    for raw in "\x1b\x07\u202e\U000e0041\u200b\0\x9b":
        assert raw not in page
    for sign in ("␛", "␇", "⟨U+202E⟩", "⟨U+E0041⟩", "⟨U+200B⟩", "␀", "⟨U+009B⟩"):
        assert sign in page
    assert 'dir="auto"' in page
    assert not set("\x1b\u202e") & set(shown.get())


def test_every_page_has_the_security_headers_and_asks_for_its_token(visit):
    shown = visit(exchange("a"), exchange("b", "b"))
    for path in ("", "/dialogue?id=a", "/beside", "/attacks"):
        answer = shown.client.get(f"/view/{TOKEN}{path}")
        assert answer.status_code == 200
        assert answer.headers["content-security-policy"].startswith("default-src 'none';")
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert shown.client.get(f"/view/wrong{path}").status_code == 404
        assert shown.client.post(f"/view/{TOKEN}{path}").status_code == 405
    assert [shown.client.get("/view/guess").status_code for _ in range(30)][-1] == 429
    assert (
        shown.client.get(f"/view/{TOKEN}").status_code == 200
    )  # who has the link is not held up by who guesses
    for path in ("/", "/static/view.css", "/static/view.js", "/static/icon.svg"):
        assert shown.client.get(path).status_code == 200
    assert shown.client.get("/static/../app.py").status_code == 404


def test_the_list_is_filtered_sorted_and_paged_by_its_address(visit):
    records = [
        exchange(f"d{number}", "ab"[number % 2], "q", f"word{number}", ratings=[rating(number % 5)])
        for number in range(120)
    ]
    shown = visit(*records)
    page = shown.get()
    assert "120 of 120 dialogues" in page
    assert page.count("data-entry") == 50
    assert "page 1 of 3" in page
    assert shown.get("", [("page", 3)]).count("data-entry") == 20
    assert shown.get("", [("page", 99)]).count("data-entry") == 20  # the last page
    page = shown.get("", [("agent", "b"), ("column", "rating:overall"), ("from", "4"), ("to", "")])
    assert "12 of 120 dialogues" in page
    assert re.findall(r"<bdi>(d\d+)</bdi>", page)[0] == "d9"
    page = shown.get("", [("sort", "rating:overall"), ("order", "asc")])
    assert re.findall(r"<bdi>(d\d+)</bdi>", page)[:2] == ["d0", "d5"]
    assert 'aria-sort="ascending"' in page
    assert "1 of 120 dialogues" in shown.get("", [("text", "word77")])
    assert "Nothing fulfils all of this" in shown.get("", [("text", "absent")])


@pytest.mark.parametrize(
    "parameters",
    [
        [("unit", "turn")],
        [("order", "up")],
        [("sort", "metric:absent")],
        [("column", "rating:overall"), ("from", "x"), ("to", "")],
        [("column", "rating:overall"), ("from", "nan"), ("to", "")],
        [("column", "rating:overall"), ("from", "1")],
        [("metric", "metric:a"), ("people", "rating:b"), ("sort", "gap")],
        [("apart", "far")],
    ],
)
def test_an_address_that_makes_no_sense_is_refused_with_the_reason(visit, parameters):
    page = visit(exchange("a", ratings=[rating(1)])).get("", parameters, status=400)
    assert "Not possible" in page


def test_a_query_is_its_address():
    query = Query(
        "reply", "a & b", ("x", "y/é"), (Range("rating:overall", 1, None), Range("metric:m", None, 0.25)),
        "metric:m", "rating:overall", 0.5, "gap", "abs", every=True, columns=("metric:m",),
    )  # fmt: skip
    assert Query.parse(query.parameters()) == query
    assert Query.parse([]) == Query()
    assert Query().link() == ""
    assert Query(text="x").sorted_by("a").sorted_by("a").order == "asc"


def test_a_dialogue_has_neighbours_in_the_list_that_it_was_opened_from(visit):
    shown = visit(
        *(exchange(f"d{number}", "ab"[number % 2], ratings=[rating(number)]) for number in range(6))
    )
    asked = [("agent", "b"), ("sort", "rating:overall")]
    page = shown.get("/dialogue", [("id", "d3"), *asked])
    assert "2 of 3" in page
    rel = {
        kind: unescape(link)
        for link, kind in re.findall(r'href="([^"]+)" data-key="[^"]+" rel="(\w+)"', page)
    }
    assert "id=d5" in rel["prev"]
    assert "id=d1" in rel["next"]
    assert "sort=rating%3Aoverall" in rel["next"]
    assert "not in this list" in shown.get("/dialogue", [("id", "d2"), *asked])
    permanent = next(link for link in links(page) if link.endswith("?id=d3"))
    assert "reply of b" in shown.client.get(permanent).text


def test_an_id_of_any_characters_can_be_linked(visit):
    strange = ["a/b?c=d&e#f", "..", "%41", "é 𝄞", "x\ny", '"', "+", " "]
    shown = visit(*(exchange(name, "a", "q", f"reply {number}") for number, name in enumerate(strange)))
    page = shown.get()
    found = [link for link in links(page) if "/dialogue?" in link]
    assert len(found) == len(strange)
    for number, link in enumerate(found):
        assert f"reply {number}" in shown.client.get(link).text


def test_turns_have_places_that_can_be_linked_and_wrong_ones_are_refused(visit):
    shown = visit(exchange("d", "a", *(f"text {number}" for number in range(500))))
    page = shown.get("/dialogue", [("id", "d"), ("turn", 350)])
    assert "page 2 of 3" in page
    assert 'id="t350" class="message user current"' in page
    assert "text 350" in page
    assert "text 199" not in page
    assert "text 499" in shown.get("/dialogue", [("id", "d"), ("page", 3)])
    for turn in ("500", "-1", "x", "٣"):
        assert "has no turn" in shown.get("/dialogue", [("id", "d"), ("turn", turn)], status=400)


def test_a_long_message_is_cut_until_it_is_asked_for(visit):
    shown = visit(exchange("d", "a", "q", "w" * 1_000_000))
    page = shown.get("/dialogue", [("id", "d")])
    assert len(page) < 40_000
    assert "980,000 more characters" in page
    link = next(link for link in links(page) if "whole=1" in link)
    assert shown.client.get(link).text.count("w" * 1_000_000) == 1
    assert len(shown.get()) < 40_000


def test_tool_calls_and_results_are_folded_and_parts_are_named(visit):
    call = {"id": "c", "type": "function", "function": {"name": "find", "arguments": '{"area":"north"}'}}
    parts = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}},
        {"type": "input_audio", "input_audio": {"data": "x" * 500, "format": "wav"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 50}},
    ]
    record = {
        "id": "d",
        "messages": [
            {"role": "user", "content": parts},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "content": '{"found":3}', "name": "find", "tool_call_id": "c"},
            {"role": "assistant", "content": "", "function_call": {"name": "old", "arguments": {"a": 1}}},
            {"role": "assistant", "content": ""},
        ],
    }
    page = visit(record).get("/dialogue", [("id", "d")])
    assert "<img" not in page
    assert "https://example.org/cat.png" in page
    assert "(500 characters)" in page
    assert "data:image/png;base64,AAAA" in page
    assert page.count("empty message") == 1
    folded = re.findall(r"<details.*?</details>", page, re.DOTALL)
    assert any("find" in one and "north" in one for one in folded)
    assert any("&#34;found&#34;: 3" in one for one in folded)
    assert any("old" in one and "&#34;a&#34;: 1" in one for one in folded)


def test_ratings_are_shown_by_rater_and_preferences_lead_to_the_other_dialogue(visit):
    ratings = [
        rating(4, "ann", turn=1, scale=[1, 5], remark="too short"),
        rating(1, "ben", turn=1, scale=[1, 5]),
    ]
    chosen = [{"other": "e", "winner": "other", "rater": "cho", "turn": 1, "shown": "first"}]
    shown = visit(exchange("d", "a", ratings=ratings, preferences=chosen), exchange("e", "b"))
    page = shown.get("/dialogue", [("id", "d")])
    assert "2.5" in page
    for words in ("ann", "ben", "remark: too short", "1–5", "not preferred to", "shown first"):
        assert words in page
    link = next(link for link in links(page) if "id=e" in link)
    assert "reply of b" in shown.client.get(link).text


def test_two_agents_stand_side_by_side_on_the_context_they_share(visit):
    records = [
        exchange(
            f"{agent}{number}", agent, f"question {number}", f"{agent} says {number}", ratings=[rating(value, turn=1)]
        )
        for number in range(12)
        for agent, value in (("a", number), ("b", 5), ("c", 1))
        if not (agent == "b" and number == 3)
    ]  # fmt: skip
    shown = visit(*records)
    reply = [("unit", "reply"), ("first", "a"), ("second", "b")]
    page = shown.get("/beside", reply)
    assert "11 contexts that both have" in page
    assert page.count("data-entry") == 10
    assert "question 3" not in page
    page = shown.get("/beside", [*reply, ("sort", "rating:overall")])
    assert page.index("a says 11") < page.index("a says 10") < page.index("a says 9")
    page = shown.get("/beside", [*reply, ("sort", "rating:overall"), ("order", "asc")])
    assert page.index("a says 0") < page.index("a says 1")
    assert "1 context that both have" in shown.get("/beside", [*reply, ("text", '"b says 7"')])
    link = next(
        link
        for link in links(shown.get("/dialogue", [("id", "a7")]))
        if "/beside?" in link and "id=a7" in link
    )
    page = shown.client.get(link).text
    assert "1 context that both have" in page
    assert "b says 7" in page
    assert "Also here" in page
    other = next(link for link in links(page) if "second=c" in link)
    assert "c says 7" in shown.client.get(other).text
    assert "no reply to the same context" in shown.get(
        "/beside", [("unit", "reply"), ("first", "a"), ("second", "x")]
    )
    shown.get("/beside", [("unit", "reply"), ("id", "a7"), ("turn", "9")], status=400)


def test_whole_dialogues_are_paired_by_a_key(visit):
    records = [
        exchange(f"{agent}{number}", agent, "q", f"{agent} on {number}", "q", "more", meta={"topic": number})
        for number in range(2)
        for agent in ("a", "b")
    ]
    page = visit(*records, pair="meta.topic").get("/beside", [("first", "a"), ("second", "b")])
    assert "2 contexts that both have" in page
    assert page.count("more") >= 4
    assert "--pair meta.KEY" in visit(*records).get("/beside", [("first", "a"), ("second", "b")])


def test_common_lists_are_one_click_away(visit):
    records = [
        exchange(f"d{number}", "a", ratings=[rating(number % 3, "x"), rating(number % 2, "y")])
        for number in range(6)
    ]
    page = visit(*records).get()
    assert "raters far apart" in page
    assert "lowest overall" in page


def test_replies_without_numbers_are_listed_only_on_request(visit):
    record = exchange("d", "a", "q", "r", "q", "r", ratings=[rating(1, turn=3)])
    shown = visit(record, exchange("e", "a"))
    assert "1 of 3 replies" in shown.get("", [("unit", "reply")])
    assert "3 of 3 replies" in shown.get("", [("unit", "reply"), ("every", "yes")])
    assert "1 of 1 replies" in visit(exchange("d", "a")).get("", [("unit", "reply")])  # nothing has a number


def test_a_server_error_shows_no_detail(visit, monkeypatch):
    shown = visit(exchange("a"))

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("turnwise.web.viewer.pages.list_columns", fails)
    page = shown.get("", status=500)
    assert "secret" not in page
    assert "Something went wrong" in page
