"""What a simulated user does wrong: eight faults that a real user would not commit, found without a model.

    empty        no words at all, or a stage direction alone
    echo         it says what the agent said
    repeat       it says again what it said, although the agent did not ask again
    role-swap    it talks as the assistant does
    leak         it talks about its instructions, or recites them
    early-end    it is content before the agent had said anything, or in place of an answer
    unasked      the agent asked for one fact, and it tells others and not that one
    invented     it names a number or an identifier that it was not told

The rules read words; benchmarks/results/play_faults.json has how many planted faults they find. A fault is no statement
about the agent: `play` tries the message again, and never scores a dialogue that ends with one.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, get_args

from rapidfuzz import fuzz

from turnwise.types import Turn
from turnwise.users.model import INSTRUCTIONS
from turnwise.users.user import Stage, UserMessage

Kind = Literal["empty", "echo", "repeat", "role-swap", "leak", "early-end", "unasked", "invented"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_SAME = 88.0  # similarity, of 100, from which two messages say the same; of a repetition of one's own words
_WORDS = 5  # shorter messages may well be equal, as `Yes, please.` is
_RUN = 7  # words in a row that nobody shares with the instructions by chance
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_DIRECTION = re.compile(r"^[\s*_]*[(\[*][^)\]*]*[)\]*][\s.*_]*$")
_AGAIN = re.compile(
    r"\b(?:again|repeat|pardon|understand|catch|clarify|rephrase|once more|say that|confirm)\b",
    re.IGNORECASE,
)
_ASSISTANT = re.compile(
    r"\bhow (?:can|may|could) i (?:help|assist)\b"
    r"|\b(?:here|happy|glad|able) to (?:help|assist)\b"
    r"|\b(?:anything|something) else (?:(?:that )?i can|you(?:'d| would)? (?:need|like))\b"
    r"|\bas an? (?:ai|assistant|language model|virtual)\b"
    r"|\bthank you for (?:contacting|calling|reaching|choosing|your patience|providing)\b"
    r"|\b(?:let me|i(?:'ll| will| can)) (?:check|look|find|search|book|process|pull|assist|help|transfer|get)\b[^.?!]*"
    r"\b(?:for you|your|you with|that up)\b"
    r"|\bi(?:'ve| have) (?:booked|found|cancel|process|issued|reserved|located|updated|refunded|sent|made)\w*\b"
    r"[^.?!]*\b(?:you|your)\b"
    r"|\b(?:could|can|would|may) (?:you|i)(?: please)? (?:provide|tell me|give me|have|share|confirm|get)(?: me)?"
    r"(?: with)? your\b"
    r"|\bplease (?:provide|share|confirm|tell me|give me)(?: me)?(?: with)? your\b"
    r"|\bwhat(?:'s| is| was) your (?:order|booking|reservation|account|ticket|full|name|email|phone|budget|destination)"
    r"|\byour (?:order|booking|refund|reservation|table|ticket|request|appointment|account|flight|payment)"
    r" (?:has|have|is|was|will) (?:been |now |be )?\w+(?:ed|d|sent|made)\b"
    r"|\bwould you like (?:me|to (?:book|proceed|know|make|reserve|confirm))\b"
    r"|\b(?:we|i) (?:recommend|suggest|apologi[sz]e for)\b"
    r"|\bi am sorry,? (?:but )?(?:there|we) |\b(?:can|shall|should|may) i book\b"
    r"|\bi (?:have|found|see) \d+ \w+ (?:available|that)\b|\bthe reference number is\b"
    r"|\bwelcome to\b",
    re.IGNORECASE,
)
# Questions of somebody who serves; in small talk everybody asks so.
_SERVING = re.compile(
    r"\b(?:would|do|did|will) you (?:like|want|wish|prefer|fly|leave|return|travel|stay|depart|arrive"
    r"|have (?:a|any) (?:preference|particular|specific|certain))\b"
    r"|\b(?:would|do|did) you have in mind\b|\bany preferences?\b[^.!]*\?"
    r"|\byou(?:'d| would)? (?:like|prefer|want)(?: to \w+)?\?",
    re.IGNORECASE,
)
_LEAK = re.compile(
    # words about a part that is played, which nobody says who has a matter of their own
    r"\b(?:persona|(?:the|my|this|system|given) prompt|simulat(?:e|ed|es|ing|ion|or)|role-?play\w*"
    r"|(?:the|this) scenario|(?:in|out of) character|pretend(?:ing)?|my (?:instructions|role|character|script)"
    r"|(?:the|these|given|my) instructions|as instructed|language model)\b"
    # the user in the third person, or what it would say
    r"|\b(?:the|this|a|simulated) (?:user|customer|person|human|visitor) (?:wants|should|must|will|would|is|has"
    r"|needs|asks|might|says|here|in|could)\b|\bas (?:a|the|an) (?:user|customer|person|visitor|human)\b"
    r"|\bi(?:'m| am) (?:the|a) (?:user|customer|person)\b|\bwould say here\b|\b(?:might|would|could) say\s*:"
    r"|\bthe assistant (?:should|must|needs|has to|will|would|is supposed)\b"
    # a goal or facts that were handed out
    r"|\b(?:my|the) (?:goal|task|job) (?:is|in this|has been|here)\b"
    r"|\b(?:told|asked|instructed|supposed|meant|allowed) (?:not )?to (?:act|be|play|behave|pretend|say|ask|tell)\b"
    r"|\bin this (?:exercise|role|simulation|conversation)\b|\bnot (?:to )?(?:reveal|mention|disclose) (?:the|my)\b"
    r"|\b(?:given|provided) (?:the following|facts|details|information)\b|\bi (?:was|have been|'ve been) given\b"
    r"|\b(?:facts|information|details) (?:i was|i have been|provided|above|below)\b|\bit says here\b"
    # labels of a text that was written for somebody else
    r"|\b(?:here(?:'s| is)|this is) (?:the|a|my|what the|one) (?:next |possible )?(?:message|reply|response|user)\b"
    r"|^\s*(?:message|output|response|reply|assistant|answer|turn)\s*:|\b(?:next|first) message\b",
    re.IGNORECASE,
)
_MORE = re.compile(r"\b(?:else|more|further|all|okay|ok|help(?:ed|ful)?|satisfied|happy)\b", re.IGNORECASE)
_OFFER = re.compile(
    r"\b(?:shall|should|can|may) (?:i|we)\b|\blike me\b|\bor\b.*\?|\b(?:that|this|it|else) (?:work|fine|ok|help)\b"
    r"|\b(?:else|other|instead|all right|correct|confirm)\b",
    re.IGNORECASE,
)
_ANY = re.compile(
    r"\b(?:any\w*|no|not|none|don'?t|doesn'?t|n't|either|whatever|matter|sure|flexible|prefer\w*"
    r"|no preference|yes|depends|but|first|actually|instead|also|and)\b",
    re.IGNORECASE,
)
# Sort of a value -> words of a question for it, names of facts of this sort, and how a value of it looks in a text.
_SORTS: dict[str, tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]] = {
    sort: tuple(re.compile(part, re.IGNORECASE) for part in parts)  # type: ignore[misc]
    for sort, parts in {
        "time": (
            r"\b(?:when|what (?:day|time|date)|which (?:day|date|time)|days?|dates?|times?)\b",
            r"day|date|time|leav|arriv|depart|return",
            r"\d|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|tomorrow|tonight|morning|noon|evening|night|soon)\b",
        ),
        "number": (
            r"\b(?:how many|how long|number of)\b",
            r"people|stay|party|number|stops|connections|nights|stars",
            r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|single|couple|myself|me|my|alone|direct)\b",
        ),
        "money": (
            r"\b(?:budget|price|prices|cost|spend|afford|pay)\b",
            r"price|budget|cost|fare",
            r"[$\u00a3\u20ac]|\d|\b(?:cheap|moderate|expensive|low|high|mid)\w*\b",
        ),
        "place": (
            r"\b(?:where|area|part of town|destination|departing from|leaving from|going to|stations?)\b",
            r"area|destination|departure|origin|city|address|place",
            r"\b(?:from|to|north|south|east|west|cent(?:re|er)|town|near)\b",
        ),
        "name": (
            r"\b(?:your|the) (?:full |last |first )?name\b",
            r"\bname$",
            r"\bname|\bi(?:'m| am)\b|\bhere\b",
        ),
    }.items()
}
_CODE = re.compile(r"(?<![\w:.,])#?(?=[\w-]*\d)\w[\w-]{2,}(?![\w:])")
_NO_CODE = re.compile(  # ordinals, amounts with a unit, years and spans are no identifiers
    r"^(?:\d{1,2}|\d+(?:st|nd|rd|th|s|am|pm|h|hrs?|min|km|kg|gb|mb|x|k|ish|pp|people|day|year|star)|(?:19|20)\d\d"
    r"|\d{1,2}-(?:\d{1,2}|\w+))$",
    re.IGNORECASE,
)


class Fault(NamedTuple):
    """One fault of a simulated user."""

    kind: Kind
    why: str


def fault(
    message: UserMessage, stage: Stage, turns: Sequence[Turn], *, reached: bool = False
) -> Fault | None:
    """The first fault of a user's next message after `turns`; None for a message that a person might write.

    `reached`: what must hold at the end does hold.
    """
    return next(_faults(message, stage, turns, reached=reached), None)


def _faults(message: UserMessage, stage: Stage, turns: Sequence[Turn], *, reached: bool) -> Iterator[Fault]:
    """The faults of a message."""
    text = message.text.strip()
    replies = [turn.text for turn in turns if turn.role == "assistant" and turn.text.strip()]
    mine = [turn.text for turn in turns if turn.role == "user"]
    last = replies[-1] if replies else ""
    if not text and message.leaving is None:
        yield Fault("empty", "it says nothing")
    if text and (not _WORD.search(text) or _DIRECTION.match(text)):
        yield Fault("empty", f"it says `{text[:40]}`")
    if leaked := _leaked(text, stage):
        yield Fault("leak", leaked)
    if any(_alike(text, reply) for reply in replies):
        yield Fault("echo", "it says what the agent said")
    if match := _ASSISTANT.search(text) or (_SERVING.search(text) if stage.facts else None):
        yield Fault("role-swap", f"it says `{match[0][:60]}`")
    if any(_alike(text, said) for said in mine) and not _asked_again(replies):
        yield Fault("repeat", "it says again what it said")
    if message.leaving == "goal" and not reached and _ends_early(last, replies):
        yield Fault("early-end", "it is content before the agent could help")
    if text and message.leaving is None and (other := _answers_another(text, last, stage)):
        yield Fault("unasked", other)
    if code := _invented(text, stage, turns):
        yield Fault("invented", f"it names {code}, which it was not told")


def _words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return [word.lower() for word in _WORD.findall(text)]


def _alike(one: str, other: str) -> bool:
    """Whether a message says what another one of some length said, in the same words and hardly more."""
    a, b = _words(one), _words(other)
    if min(len(a), len(b)) < _WORDS:
        return False
    if len(a) <= len(b) + _WORDS and f" {' '.join(b)} " in f" {' '.join(a)} ":
        return True
    return fuzz.ratio(" ".join(a), " ".join(b)) >= _SAME


def _asked_again(replies: Sequence[str]) -> bool:
    """Whether the agent's last reply asks for something again."""
    if not replies:
        return False
    last = replies[-1]
    return bool(_AGAIN.search(last)) or any(
        fuzz.ratio(" ".join(_words(last)), " ".join(_words(reply))) >= _SAME for reply in replies[:-1]
    )


def _leaked(text: str, stage: Stage) -> str:
    """How a message talks about its instructions; "" if it does not."""
    if match := _LEAK.search(text):
        return f"it says `{match[0]}`"
    words = _words(text)
    for source in (INSTRUCTIONS, stage.scenario.persona):
        known = " ".join(_words(source))
        for start in range(len(words) - _RUN + 1):
            run = " ".join(words[start : start + _RUN])
            if f" {run} " in f" {known} ":
                return f"it recites `{run}`"
    return ""


def _ends_early(last: str, replies: Sequence[str]) -> bool:
    """Whether a content user leaves before the agent has replied, or when the agent has asked for something."""
    if not replies:
        return True
    question = last.rstrip().endswith("?")
    sentence = re.split(r"[.!?]\s+", last.rstrip(" ?"))[-1]
    return question and not _MORE.search(sentence)


def _answers_another(text: str, last: str, stage: Stage) -> str:
    """Which facts a message tells when the agent asked for something else; "" if it tells that too, or no fact.

    What a question asks for is a sort of value (a time, a number, money, a place, a name), or a fact by its name.
    """
    if "?" not in last or "?" in text or len(stage.facts) < 2 or _ANY.search(text):
        return ""
    question = re.findall(r"[^.?!]*\?", last)[-1]
    if _OFFER.search(question):
        return ""
    told = {name for name, value in stage.facts.items() if _says(text, value)}
    asked = {sort for sort, (words, _, _) in _SORTS.items() if words.search(question)}
    wanted = {
        name
        for name, value in stage.facts.items()
        if _named(name, question) or asked & _sorts_of(name, value)
    }
    if not told or not wanted or told & wanted or any(_named(name, text) for name in wanted):
        return ""
    if any(_SORTS[sort][2].search(text) for sort in asked):
        return ""
    return f"asked for {', '.join(sorted(wanted)[:3])}, it tells {', '.join(sorted(told))}"


def _sorts_of(name: str, value: str) -> set[str]:
    """The sorts of values that a fact is of, by its name."""
    last = name.rpartition(".")[2]
    return {sort for sort, (_, names, _) in _SORTS.items() if names.search(last)}


def _named(name: str, text: str) -> bool:
    """Whether a text has the words of a fact's name."""
    words = set(_words(text))
    last = name.rpartition(".")[2]
    parts = [part for part in re.split(r"[_\W]+", last.lower()) if len(part) > 2]
    return bool(parts) and all(any(word.startswith(part[:6]) for word in words) for part in parts)


def _says(text: str, value: str) -> bool:
    """Whether a text has a value, as whole words."""
    wanted = _words(value)
    return bool(wanted) and f" {' '.join(wanted)} " in f" {' '.join(_words(text))} "


def _invented(text: str, stage: Stage, turns: Sequence[Turn]) -> str:
    """An identifier of the message that neither the scenario nor the dialogue has; "" if there is none."""
    if not stage.facts:
        return ""
    heard = " ".join([stage.told, *(turn.text for turn in turns)])
    known = {_plain(code) for code in _CODE.findall(heard)}
    digits = {re.sub(r"\D", "", code) for code in known}
    for code in _CODE.findall(text):
        plain = _plain(code)
        if _NO_CODE.match(code):
            continue
        if plain not in known and re.sub(r"\D", "", plain) not in digits:
            return str(code)
    return ""


def _plain(code: str) -> str:
    """An identifier without marks, in lower case."""
    return re.sub(r"\W", "", code).lower()
