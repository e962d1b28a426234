"""Precision and recall of `convert --redact` on a labelled set made from templates.

`python -m benchmarks.redaction` writes benchmarks/results/redaction.json. It needs Faker (`pip install faker`); with
phonenumbers installed it also measures that library's matcher on the phone numbers. Values come from Faker's locales
with a fixed seed. Each sentence with a value, and each without (prices, times, flights, dates, versions, orders), is
beside a real turn of DailyDialog or MultiWOZ. Passwords that people chose are measured apart from keys that services
made, with sentences of their own. The rules were corrected on the templates of the half `written`. The half `held out`
was measured when they were done, and is what we report; the rules were not changed after that. Sentences with passwords
were added later, both halves before the rules for passwords, and the other figures did not change. `--half written
--errors` shows mistakes.
"""

import argparse
import gzip
import json
import os
import random
import re
import string
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from faker import Faker

from turnwise.logs.redact import KINDS, find

RESULT = Path(__file__).parent / "results" / "redaction.json"
DATA = Path(os.environ.get("TURNWISE_DATA", Path(__file__).parents[2] / "shared" / "data"))
CORPORA = ("dailydialog.jsonl.gz", "multiwoz_valtest.jsonl.gz")
NAMES = {
    "PERSON, en_US and en_GB": ("en_US", "en_GB"),
    "PERSON, other locales": ("en_IN", "de_DE", "fr_FR", "es_ES", "it_IT", "nl_NL", "pl_PL"),
}
LOCALES = ("en_US", "en_GB", "en_IN", "de_DE", "fr_FR", "es_ES", "it_IT", "nl_NL", "pl_PL")
EACH = 40  # sentences of each template
SEED = 20261116

WRITTEN: dict[str, list[str]] = {
    "PERSON": [
        "My name is {}.", "Hi, this is {} calling about my order.", "Hello {}, how can I help you today?",
        "I spoke with Mr. {last} yesterday.", "Please book it for {} and two children.", "Best regards,\n{}",
        "my name is {lower}", "The reservation is under the name {}.", "{} told me to come back on Monday.",
        "I'm {}, I live next door.", "Could you ask {} to ring me back?", "Yes, {}, that is all.",
        "The ticket should say {}.", "I was treated by Dr. {last} last week.", "Thanks a lot!\n\nCheers,\n{}",
        "name's {lower}", "Passenger one: {}, passenger two: my wife.", "When does {}'s shift start?",
    ],
    "EMAIL": [
        "You can mail me at {}.", "My email is {}, thanks!", "Send it to <{}>", "{} is my address",
        "Could you forward the invoice to {}?", "login: {}", "I wrote from {} but nobody replied.", "cc {};",
    ],
    "PHONE": [
        "Call me at {}.", "My phone number is {}", "You can reach us on {} between 9 and 5.", "Tel: {}",
        "Their number? It is {}, I think.", "If anything changes, text {}.", "Is {} still the right contact for you?",
        "mobile {}, any time after six", "The new one is {}.", "Please ring my wife: {}.",
    ],
    "CARD": [
        "My card number is {}.", "Please charge {} instead, exp 10/27.", "Visa {}", "It was paid with {} on Friday.",
        "The number on the front reads {}", "cc: {}, cvv 123",
    ],
    "IBAN": [
        "My IBAN is {}.", "Transfer it to {} please.", "Account: {}", "Refund me on {}, not on the card.",
        "Bank details: {}", "the money should go to {} by Tuesday",
    ],
    "IP": [
        "My IP address is {}.", "It says connection refused by {}", "ping {} does not answer", "host={}",
        "There were three logins from {} last night.", "Is {} your router?",
    ],
    "URL": [
        "I clicked {} but it has expired.", "The link is {}.", "See {} please", "Your confirmation page: {}",
        "Why does {} give me an error?", "I was sent ({}) by your colleague.",
    ],
    "KEY": [
        "My API key is {}.", "I set OPENAI_API_KEY={} and it fails.", "curl -H 'Authorization: Bearer {}'",
        "Is {} still valid?", "token: {}", "I accidentally posted {} in the chat.",
    ],
}  # fmt: skip
HELD_OUT: dict[str, list[str]] = {
    "PERSON": [
        "Good evening, {} speaking, what can I do for you?", "Did {} get my message?", "I am writing on behalf of {}.",
        "It was {} who opened the parcel.", "Dear Ms. {last}, we have received your complaint.",
        "Please put the flat in {}'s name.", "Sincerely yours,\n{}", "hi, i'm {lower}",
        "My brother {} will collect it.",
        "Could I have a word with {}, please?",
    ],
    "EMAIL": ["Reply to {} by noon.", "is {} correct?", "Username {}, password forgotten.", "(my mail: {})"],
    "PHONE": [
        "You have the wrong number, mine is {}.", "He picked up when I tried {}.", "WhatsApp: {}",
        "For emergencies dial {} first.", "{} - that's my office line.",
    ],
    "CARD": ["The digits are {}, can you check?", "I used {} to book the flight.", "card={}"],
    "IBAN": ["Is {} the account you have on file?", "iban {}", "They paid into {} by mistake."],
    "IP": ["The server at {} is down.", "I only see {} in the log.", "Block {}, please."],
    "URL": ["They sent me to {} and then nothing happened.", "link={}", "Please open {}, it is safe."],
    "KEY": ["The client uses {} to sign in.", "export SERVICE_TOKEN={}", "Somebody leaked {}, revoke it."],
}  # fmt: skip
NOTHING: dict[str, list[str]] = {
    "written": [
        "It costs {price} for {n} nights.", "The train leaves at {time} and arrives at {time}.",
        "Room {n4} is on the fourth floor.", "Flight {flight} on {date} is full.", "I updated to version {version}.",
        "Your order number is {n10}.", "I'm American, and this is Sunday.", "Thanks, Sir.", "We sold {big} of them.",
        "The score was {n}-{n}, {n}-{n}.", "See https://www.example.com/help/contact for more.",
        "I am Happy to help.", "The meeting on {date} lasts from {time} to {time}.",
        "That is {price} plus {price} for delivery.", "Can you make it {time} instead of {time}?",
        "Gate {n}, seat {seat}, boarding {time}.", "The booking reference is {n10}, it was made on {date}.",
        "Firmware {version} is from {date}.", "Its ISBN is {isbn}.", "The population is {big}.",
        "He is Polish, she is Swiss, and they met in Vienna.", "Dear Customer, welcome to Grand Hotel.",
        "Good Morning, Everyone!", "Open https://docs.example.org/guide/install.html#linux first.",
        "Tracking says parcel {n12} left the depot at {time}.", "Take bus {n} to Victoria Street, stop {n4}.",
        "I was born in {n4}, in Georgia.", "Call of Duty costs {price} on Steam.", "My postcode is CB{n} 1AB.",
    ],
    "held out": [
        "Two tickets at {price} make {price}.", "Platform {n}, {time}, coach {seat}.",
        "Invoice {n10} is due on {date}.",
        "The app crashed after build {version}.", "From {date} to {date} we are closed.", "Case {n12} was closed.",
        "Hello Kitty is Japanese.", "This is Amazon Prime, not Netflix.", "Ask Google or call Reception.",
        "Dear Parents, the School Trip is on {date}.", "Thanks, Guys!", "My Xbox has {big} points.",
        "I'm Dutch but I live in New Zealand.", "Check https://en.wikipedia.org/wiki/Telephone_number_format too.",
        "We fly {flight} to San Francisco via Charlotte at {time}.", "It holds {n4} x {n4} pixels at {n} Hz.",
    ],
}  # fmt: skip


# Of passwords; where nothing is to be found, there is no place for a value.
PASSWORDS: dict[str, list[str]] = {
    "written": [
        "password: {}", "my password is {}", "pw={}", "The password was {}, it no longer works.", "login ann, pass: {}",
        "I set my password to {} last week.", "The password is wrong.", "My password is not working since Monday.",
        "Passwords are 8 characters or more.", "Password reset does not work.", "Is the password case sensitive?",
        "The password is expired, says the app.",
    ],
    "held out": [
        "pwd: {}", "wifi password - {}", "Is {} the right password?", "user=admin password={} host=db1",
        "the passcode is {}.", "They want me to change the password {} every month.", "The password field is empty.",
        "password: forgotten", "My password is the same as before.", "Which password do you mean?",
        "The password is 12 characters long.", "A boarding pass is free.",
    ],
}  # fmt: skip
CHOSEN = "KEY, passwords"  # the row of their figures


class Example(NamedTuple):
    text: str
    kind: str | None  # None: nothing is personal
    start: int = 0
    end: int = 0
    locale: str = ""  # of the value


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--half", choices=["written", "held out"])
    parser.add_argument(
        "--errors", action="store_true", help="print what was missed and what was wrongly found"
    )
    parser.add_argument(
        "--names", type=int, metavar="N", help="print N names found in other turns of DailyDialog"
    )
    given = parser.parse_args()
    if given.names:
        print(*found_names(given.names), sep="\n")
        return
    carriers = list(turns())
    halves = {
        half: measured(half, carriers, given.errors)
        for half in ("written", "held out")
        if given.half in (None, half)
    }
    for half, rows in halves.items():
        print(half)
        for kind, row in rows.items():
            print(f"  {kind:<14}", *(f"{name} {value}" for name, value in row.items()))
    if given.half is None:
        settings = {"seed": SEED, "locales": LOCALES, "corpora": CORPORA, "sentences of each template": EACH}
        RESULT.write_text(json.dumps({"settings": settings, "halves": halves}, indent=1) + "\n")


def found_names(n: int) -> list[str]:
    """Names that the rules find in dialogues 3000 to 4499, each with the text around it, for a person to judge."""
    found: list[str] = []
    with gzip.open(DATA / CORPORA[0], "rt", encoding="utf-8") as lines:
        for line in islice(lines, 3000, 4500):
            for message in json.loads(line)["messages"]:
                said = message["content"]
                people = [span for span in find(said) if span.kind == "PERSON"]
                found += [
                    f"{said[s.start : s.end]}\t{said[max(0, s.start - 35) : s.end + 25]!r}" for s in people
                ]
    return random.Random("7").sample(found, n)


def turns() -> Iterator[str]:
    """Real turns without a mail address, long digits, or a capital inside a sentence, so that no name is unlabelled."""
    for corpus in CORPORA:
        with gzip.open(DATA / corpus, "rt", encoding="utf-8") as lines:
            for line, _ in zip(lines, range(1500), strict=False):
                for message in json.loads(line)["messages"]:
                    said = message["content"]
                    if not re.search(r"@|\d{5}|(?<![.?!])\s+(?!I\b)[A-Z]", said) and said:
                        first = said.split()[0]
                        if not re.match(r"[A-Z]", first) or first.lower() in COMMON:
                            yield said


COMMON = frozenset(
    "i i'm i'll i've i'd yes no what where when who why how is are do does did can could would will the a it that this "
    "there you we they he she well oh ok okay sure thank thanks please and but so if in on for my your not have has "
    "good great sorry excuse let hi hello it's that's what's don't all some any just maybe really of as at to".split()
)


def examples(half: str, carriers: list[str]) -> Iterator[Example]:
    chance = random.Random(f"{SEED} {half}")
    for fake in IBANS:
        fake.seed_instance(f"{SEED} {half}")
    fakers = {}
    for locale in LOCALES:
        fakers[locale] = Faker(locale)
        fakers[locale].seed_instance(f"{SEED} {half} {locale}")
    for kind, templates in (WRITTEN if half == "written" else HELD_OUT).items():
        for template in templates:
            for place in range(EACH):
                fake = fakers[LOCALES[place % len(LOCALES)]]
                value = VALUES[kind](fake, chance)
                field = re.search(r"\{(\w*)\}", template)
                if field is None:
                    raise ValueError(f"{template}: has no place for a value")
                if field[1]:
                    value = fake.last_name() if field[1] == "last" else value.lower()
                sentence = template.replace(field[0], value)
                made = placed(sentence, kind, value, chance.choice(carriers), chance.random() < 0.5)
                yield made._replace(locale=LOCALES[place % len(LOCALES)])
    for template in NOTHING[half]:
        for _ in range(EACH):
            sentence = re.sub(r"\{(\w+)\}", lambda match: ordinary(match[1], chance), template)
            yield placed(sentence, None, "", chance.choice(carriers), chance.random() < 0.5)


def placed(sentence: str, kind: str | None, value: str, carrier: str, first: bool) -> Example:
    alone = "\n" in sentence  # a closing ends its message
    text = f"{carrier} {sentence}" if first or alone else f"{sentence} {carrier}"
    start = text.index(value, len(carrier) if first or alone else 0)
    return Example(text, kind, start, start + len(value))


def card(fake: Faker, chance: random.Random) -> str:
    number = fake.credit_card_number(chance.choice(["visa16", "mastercard", "amex", "discover"]))
    if chance.random() < 0.4:
        return number
    cuts = (4, 10, 15) if len(number) == 15 else (4, 8, 12, 16)
    return chance.choice([" ", "-"]).join(number[a:b] for a, b in zip((0, *cuts), cuts, strict=False))


def iban(_: Faker, chance: random.Random) -> str:
    number = chance.choice(IBANS).iban()
    return number if chance.random() < 0.5 else " ".join(number[i : i + 4] for i in range(0, len(number), 4))


# Faker's British IBANs are one character short, and some of its locales have none.
IBANS = [Faker(locale) for locale in ("de_DE", "fr_FR", "es_ES", "it_IT", "nl_NL", "pl_PL")]


def token(chance: random.Random, length: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "".join(chance.choices(alphabet, k=length - 1)) + chance.choice(string.digits)


def url(fake: Faker, chance: random.Random) -> str:
    host = fake.domain_name()
    return chance.choice([
        f"https://{host}/reset?token={token(chance, 24)}",
        f"https://{host}/u/{token(chance, 32)}",
        f"https://{host}/cb?state=x&code={token(chance, 12)}",
        f"https://{fake.user_name()}:{token(chance, 10)}@{host}/private",
        f"https://s3.{host}/f.pdf?X-Amz-Expires=300&X-Amz-Signature={token(chance, 64, '0123456789abcdef')}",
        f"https://{host}/unsubscribe?email={fake.user_name()}%40{host}",
    ])  # fmt: skip


def key(_: Faker, chance: random.Random) -> str:
    upper = string.ascii_uppercase + string.digits
    return chance.choice([
        "sk-proj-" + token(chance, 40), "sk-ant-api03-" + token(chance, 40), "AKIA" + token(chance, 16, upper),
        "ghp_" + token(chance, 36), "xoxb-" + token(chance, 12, string.digits) + "-" + token(chance, 24),
        "AIza" + token(chance, 35), "hf_" + token(chance, 34), "sk_live_" + token(chance, 24),
        f"eyJ{token(chance, 20)}.eyJ{token(chance, 30)}.{token(chance, 40)}", token(chance, 40),
    ])  # fmt: skip


def password(fake: Faker, chance: random.Random) -> str:
    word = fake.word()
    symbols = string.ascii_letters + string.digits + "!#$%&*+-?@_"
    swapped = word.translate(str.maketrans("aeio", "@310")).title()
    return chance.choice([
        f"{word}{chance.randrange(10, 10000)}", f"{word.title()}{chance.randrange(1970, 2027)}!",
        f"{swapped}{chance.choice('!&#')}{chance.randrange(1, 100)}", "".join(chance.choices(symbols, k=10)),
        str(chance.randrange(10**5, 10**8)), fake.word() + word,
    ])  # fmt: skip


def of_passwords(half: str, carriers: list[str]) -> Iterator[Example]:
    """Sentences with a password, and sentences about passwords without one."""
    chance, fake = random.Random(f"{SEED} {half} passwords"), Faker("en_US")
    fake.seed_instance(f"{SEED} {half} passwords")
    for template in PASSWORDS[half]:
        for _ in range(EACH):
            value = password(fake, chance) if "{}" in template else ""
            kind = "KEY" if value else None
            yield placed(
                template.replace("{}", value), kind, value, chance.choice(carriers), chance.random() < 0.5
            )


VALUES: dict[str, Callable[[Faker, random.Random], str]] = {
    "PERSON": lambda fake, chance: " ".join([fake.first_name(), fake.last_name()][: 1 + (chance.random() < 0.6)]),
    "EMAIL": lambda fake, chance: chance.choice([fake.email, fake.company_email, fake.free_email])(),
    "PHONE": lambda fake, _: re.sub(r"\s*x\d+$", "", fake.phone_number()),
    "CARD": card,
    "IBAN": iban,
    "IP": lambda fake, chance: fake.ipv6() if chance.random() < 0.3 else fake.ipv4(),
    "URL": url,
    "KEY": key,
}  # fmt: skip


DATES = ("{2}-{1:02}-{0:02}", "{0:02}.{1:02}.{2}", "{1}/{0}/{2}", "{0} March {2}")


def ordinary(what: str, chance: random.Random) -> str:
    hour, minute = chance.randrange(24), chance.randrange(60)
    day, month, year = chance.randrange(1, 29), chance.randrange(1, 13), chance.randrange(1990, 2027)
    made: dict[str, Callable[[], str]] = {
        "price": lambda: chance.choice([f"${hour * minute}.{minute:02}", f"{hour * 1000:,} pounds", f"€ {day}"]),
        "time": lambda: chance.choice([f"{hour}:{minute:02}", f"{hour % 12 + 1} pm", f"{hour:02}{minute:02}"]),
        "date": lambda: chance.choice(DATES).format(day, month, year),
        "version": lambda: chance.choice(["{}.{}.{}", "{}.{}.{}.{}", "v{}.{}"]).format(day, month, hour, minute),
        "flight": lambda: f"{chance.choice(['BA', 'LH', 'AA', 'KL'])}{chance.randrange(10, 9999)}",
        "seat": lambda: f"{day}{chance.choice('ABCDEF')}",
        "n": lambda: str(chance.randrange(1, 60)),
        "n4": lambda: str(chance.randrange(1000, 9999)),
        "n10": lambda: str(chance.randrange(10**9, 10**10)),
        "n12": lambda: str(chance.randrange(10**11, 10**12)),
        "big": lambda: f"{chance.randrange(10**6, 10**9):,}",
        "isbn": lambda: f"978-{hour % 10}-{chance.randrange(10**5, 10**6)}-{day + 10}-{minute % 10}",
    }  # fmt: skip
    return made[what]()


def measured(half: str, carriers: list[str], errors: bool) -> dict[str, dict[str, Any]]:
    """The figures by kind, those of passwords apart from those of other keys."""
    rows = counted(examples(half, carriers), errors)
    for group, locales in NAMES.items():
        names = [rows[f"PERSON {one}"] for one in locales]
        n = sum(row["labelled"] for row in names)
        rows[group] = {"labelled": n, "recall": round(sum(row["removed"] for row in names) / n, 3)}
    rows[CHOSEN] = counted(of_passwords(half, carriers), errors)["KEY"]
    if _has_phonenumbers():
        rows["phonenumbers"] = compared(half, carriers)
    shown = (*KINDS, *NAMES, CHOSEN, "phonenumbers")
    return {
        kind: {name: value for name, value in rows[kind].items() if name != "removed"}
        for kind in shown
        if kind in rows
    }


def counted(made: Iterator[Example], errors: bool) -> dict[str, dict[str, Any]]:
    """The figures by kind, and by kind and locale."""
    labelled: Counter[str] = Counter()
    removed: Counter[str] = Counter()
    found: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for example in made:
        predicted = list(find(example.text))
        covered = {place for span in predicted for place in range(span.start, span.end)}
        for span in predicted:
            found[span.kind] += 1
            hit = span.kind == example.kind and span.start < example.end and example.start < span.end
            right[span.kind] += hit
            if errors and not hit:
                print(f"wrong   {span.kind}: {example.text[span.start : span.end]!r} in {example.text!r}")
        if example.kind is not None:
            labelled[example.kind] += 1
            value = range(example.start, example.end)
            whole = all(place in covered for place in value if example.text[place].isalnum())
            removed[example.kind] += whole
            labelled[f"{example.kind} {example.locale}"] += 1
            removed[f"{example.kind} {example.locale}"] += whole
            if errors and not whole:
                print(
                    f"missed  {example.kind}: {example.text[example.start : example.end]!r} in {example.text!r}"
                )
    return {
        kind: {
            "labelled": labelled[kind],
            "found": found[kind],
            "precision": round(right[kind] / found[kind], 3) if found[kind] else None,
            "recall": round(removed[kind] / labelled[kind], 3),
            "removed": removed[kind],
        }
        for kind in labelled
    }


def _has_phonenumbers() -> bool:
    try:
        import phonenumbers  # noqa: F401
    except ImportError:
        return False
    return True


def compared(half: str, carriers: list[str]) -> dict[str, Any]:
    """The matcher of phonenumbers, told no region but that of the US and the UK, as logs do not name one."""
    from phonenumbers import Leniency, PhoneNumberMatcher

    labelled = removed = found = right = 0
    for example in examples(half, carriers):
        places = {
            (match.start, match.end)
            for region in ("US", "GB")
            for match in PhoneNumberMatcher(example.text, region, leniency=Leniency.VALID)
        }
        covered = {place for start, end in places for place in range(start, end)}
        merged = sorted(places)
        found += len(merged)
        right += sum(example.kind == "PHONE" and a < example.end and example.start < b for a, b in merged)
        if example.kind == "PHONE":
            labelled += 1
            value = range(example.start, example.end)
            removed += all(place in covered for place in value if example.text[place].isdigit())
    precision = round(right / found, 3) if found else None
    return {
        "labelled": labelled,
        "found": found,
        "precision": precision,
        "recall": round(removed / labelled, 3),
    }


if __name__ == "__main__":
    main()
