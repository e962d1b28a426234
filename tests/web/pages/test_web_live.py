"""Live dialogues in headless Chromium: keys, slow and failing agents, two windows, two agents, pieces of replies."""

import pytest

from tests.browsing import QUIET, arrive, picture, rated
from turnwise.types import Dialogue, Turn

pytestmark = pytest.mark.slow

TASKS = [
    Dialogue(f"goal-{k}", "none", (Turn("system", "sell"),), goal={"name": f"Ann {k}"}) for k in range(3)
]
TEMPLATES = '[chat]\ntemplates = ["My name is {name}.", "Thank you."]\n'


def begin(serve, visit, study: str, *agents: str, **options: object):
    given = [part for agent in agents for part in ("--agent", agent)]
    links = serve(TASKS, study, "--mode", "chat", *given)
    page = visit(links["anna"], **options)
    page.keyboard.press("Enter")
    arrive(page, "Your message")
    return page, links


def test_digits_and_letters_typed_in_a_chat_are_text(serve, visit):
    page, _ = begin(serve, visit, TEMPLATES, "bots:shop")
    page.locator("body").evaluate("() => document.activeElement.blur()")
    page.keyboard.type("u2 tickets")
    assert page.get_by_label("Your message").input_value() == "u2 tickets"
    page.keyboard.press("Enter")
    arrive(page, "Very well: u2 tickets")
    page.keyboard.press("Alt+2")
    arrive(page, "Very well: Thank you.")


def test_ones_own_message_and_thinking_appear_at_once_and_typing_goes_on(serve, visit, tmp_path):
    page, _ = begin(serve, visit, QUIET, "bots:held")
    page.keyboard.type("hello")
    page.keyboard.press("Enter")
    page.locator(".turns .user", has_text="hello").wait_for()
    page.get_by_text("The assistant is thinking.").wait_for()
    page.keyboard.type("typed meanwhile")
    (tmp_path / "go").touch()  # only now the agent replies
    arrive(page, "at last: hello")
    assert page.get_by_label("Your message").input_value() == "typed meanwhile"
    assert page.locator(".turns .user").count() == 1
    page.keyboard.press("Enter")
    arrive(page, "at last: typed meanwhile")


@pytest.mark.parametrize("arrives", [True, False])
def test_what_is_typed_while_a_message_is_on_its_way_outlives_a_reload(serve, visit, tmp_path, arrives):
    page, _ = begin(serve, visit, QUIET, "bots:held", expected="ERR_FAILED")
    on_its_way = []
    page.route("**/say", lambda route: on_its_way.append(route))
    page.keyboard.type("first")
    with page.expect_request("**/say"):
        page.keyboard.press("Enter")
    page.keyboard.type("second")
    if arrives:
        with page.expect_request("**/live"):  # the page has heard that the message was stored
            on_its_way[0].continue_()
    else:
        on_its_way[0].abort()
        arrive(page, "could not be sent")
    page.reload()
    arrive(page, "Your message")
    kept = "second" if arrives else "first\nsecond"
    assert page.get_by_label("Your message").input_value() == kept
    (tmp_path / "go").touch()


def test_on_a_phone_the_field_for_a_message_stays_in_view(serve, visit):
    page, _ = begin(serve, visit, QUIET, "bots:long", width=390, height=700, has_touch=True)
    edge = "e => [e.getBoundingClientRect().top, e.getBoundingClientRect().bottom]"
    for number in range(4):  # together higher than the window
        page.keyboard.type(f"hello {number}")
        page.keyboard.press("Enter")
        arrive(page, f"many words hello {number}")
        page.locator("form.composer:not([aria-busy])").wait_for()
        top, bottom = page.locator(".turns li").last.evaluate(edge)
        assert top >= -1
        assert bottom <= page.locator(".composer").evaluate(edge)[0] + 1  # not behind the field
    for place in (0, 99999):
        page.evaluate("place => scrollTo(0, place)", place)
        for part in (page.get_by_label("Your message"), page.get_by_role("button", name="Send")):
            box = part.bounding_box()
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= 700


def test_nothing_typed_is_lost_when_the_agent_fails_or_the_page_is_loaded_again(serve, visit):
    page, _ = begin(serve, visit, QUIET, "bots:broken")
    page.keyboard.type("hello")
    page.keyboard.press("Enter")
    arrive(page, "could not reply")
    assert page.locator(".turns .user", has_text="hello").count() == 1
    page.set_viewport_size({"width": 390, "height": 500})
    page.reload()
    arrive(page, "could not reply")
    button, field = page.get_by_role("button", name="Ask again"), page.locator(".composer")
    assert button.bounding_box()["y"] + button.bounding_box()["height"] <= field.bounding_box()["y"]
    page.locator("#text").focus()
    page.keyboard.type("a long second message")
    page.get_by_role("button", name="Ask again").focus()
    page.keyboard.press("Enter")
    page.locator("#text:focus").wait_for()  # where one goes on when the button is gone
    arrive(page, "could not reply")
    assert page.get_by_label("Your message").input_value() == "a long second message"
    page.reload()
    arrive(page, "could not reply")
    assert page.get_by_label("Your message").input_value() == "a long second message"
    picture(page, "chat-failed")


def test_nothing_typed_is_lost_when_another_window_said_something(serve, visit):
    page, links = begin(serve, visit, QUIET, "bots:shop", expected="409")
    other = page.context.new_page()
    other.goto(links["anna"])
    other.keyboard.type("from the other window")
    other.keyboard.press("Enter")
    arrive(other, "Very well: from the other window")
    page.keyboard.type("my words")
    page.keyboard.press("Enter")
    arrive(page, "was not sent")
    assert page.get_by_label("Your message").input_value() == "my words"
    assert page.get_by_text("Very well: from the other window").count() == 1
    page.keyboard.press("Enter")
    arrive(page, "Very well: my words")


def test_nothing_typed_is_lost_without_script_either(serve, visit):
    page, links = begin(serve, visit, QUIET, "bots:shop", expected="409")
    bare = visit(links["anna"], java_script_enabled=False, expected="409")
    page.keyboard.type("first")
    page.keyboard.press("Enter")
    arrive(page, "Very well: first")
    bare.get_by_label("Your message").fill("second")
    bare.get_by_role("button", name="Send").click()
    arrive(bare, "was not sent")
    assert bare.get_by_label("Your message").input_value() == "second"
    bare.get_by_role("button", name="Send").click()
    arrive(bare, "Very well: second")


def test_least_and_most_turns_count_what_the_rater_sees(serve, visit):
    page, _ = begin(serve, visit, QUIET + "[chat]\nleast_turns = 4\nmost_turns = 6\n", "bots:loud")
    assert page.get_by_role("button", name="End the dialogue").count() == 0
    page.keyboard.type("one")
    page.keyboard.press("Enter")
    arrive(page, "LOUD: one")
    assert page.get_by_text("Messages before you can end the dialogue: 2").count() == 1
    assert page.get_by_role("button", name="End the dialogue").count() == 0
    page.keyboard.type("two")
    page.keyboard.press("Enter")
    arrive(page, "LOUD: two")
    assert page.get_by_role("button", name="End the dialogue").count() == 1
    page.keyboard.type("three")
    page.keyboard.press("Enter")
    arrive(page, "The dialogue is over")
    assert page.locator(".turns li").count() == 6


def test_an_agent_that_streams_is_shown_while_it_writes(serve, visit):
    page, links = begin(serve, visit, QUIET, "bots:writes")
    page.keyboard.type("count")
    page.keyboard.press("Enter")
    last = page.locator(".turns .assistant .text")
    page.get_by_text("one two", exact=True).wait_for()
    assert "three" not in last.inner_text()
    page.get_by_text("one two three", exact=True).wait_for()
    page.get_by_role("button", name="End the dialogue").click()
    arrive(page, "The dialogue is over")
    page.keyboard.type("14")
    page.keyboard.press("Enter")
    arrive(page, "Task 2")
    (talk,) = rated(links["admin"])
    assert [m["content"] for m in talk["messages"]] == ["sell", "count", "one two three"]


def test_two_agents_are_talked_to_side_by_side_and_blindly(serve, visit):
    study = "per_task = 1\n" + QUIET + "[chat]\nbeside = true\n"
    page, links = begin(serve, visit, study, "quiet=bots:slow", "loud=bots:loud")
    orders = set()
    for number in range(1, 4):
        arrive(page, f"Task {number} of")
        page.keyboard.type(f"hello {number}")
        page.keyboard.press("Enter")
        page.get_by_text(f"LOUD: hello {number}").wait_for()
        page.get_by_text(f"slowly: hello {number}").wait_for()
        if number == 1:
            picture(page, "beside")
        columns = page.locator(".column")
        assert columns.count() == 2
        is_first = "LOUD" in columns.first.inner_text()
        orders.add(is_first)
        for name in ("quiet", "loud"):
            assert name not in page.locator("main").inner_text()
        page.get_by_role("button", name="End the dialogue").click()
        arrive(page, "Which is better?")
        page.keyboard.press("1" if is_first else "3")
        page.keyboard.press("Enter")
    arrive(page, "Thank you")
    found = rated(links["admin"])
    assert len(found) == 6
    agents = {one["id"]: one["agent"] for one in found}
    chosen = [
        (one["agent"], agents[p["other"]], p["winner"]) for one in found for p in one.get("preferences", ())
    ]
    assert chosen == [("quiet", "loud", "other")] * 3
    shown = {p["shown"] for one in found for p in one.get("preferences", ())}
    assert shown == {"second" if first else "first" for first in orders}
    assert {m["content"] for one in found if one["agent"] == "loud" for m in one["messages"]} >= {
        "LOUD: hello 1"
    }
