"""Personal data with a form: mail addresses, phone, card and IBAN numbers, IP addresses, URLs with secrets, keys.

A pattern finds candidates; a checksum or a parser decides where there is one.
"""

import re
from collections.abc import Callable, Iterator
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit


class Span(NamedTuple):
    """A place in a text that holds personal data."""

    start: int
    end: int
    kind: str
    value: str  # equal for two spellings of the same value


EMAIL = re.compile(
    r"(?<![\w.+%-])[\w.+%-]{1,64}@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}[^\W\d_]{2,24}(?![\w-])"
)
URL = re.compile(
    r"""\b(?:https?|wss?|ftp|postgres(?:ql)?|mysql|mongodb(?:\+srv)?|redis|amqp)://[^\s<>"'`\[\]{}|\\^]+"""
)
TRAILING = ".,;:!?)'\""  # after a URL, of the sentence
SECRETS = re.compile(
    r"(?:^|[_-])(?:token|key|apikey|sig|signature|secret|auth|code|session|sid|sessionid|jwt|password|passwd|pwd|otp|"
    r"credential|email|hash)s?$",
    re.I,
)
# A part of a path, or a value, that is a token rather than words.
OPAQUE_PART = re.compile(r"(?=[\w-]*\d)(?=[\w-]*[a-zA-Z])[\w-]{20,}={0,2}")

KEYS = re.compile(
    r"""
      -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----.*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    | (?<![\w-])(?:
          sk-(?:[A-Za-z]+-)*[A-Za-z0-9_-]{16,}                 # OpenAI, Anthropic
        | (?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,}          # Stripe
        | (?:AKIA|ASIA)[0-9A-Z]{16}                            # AWS
        | gh[pousr]_[A-Za-z0-9]{20,} | github_pat_\w{20,} | glpat-[\w-]{20,}
        | xox[abeoprs]-[A-Za-z0-9-]{10,}                       # Slack
        | AIza[\w-]{30,}                                       # Google
        | hf_[A-Za-z0-9]{20,} | npm_[A-Za-z0-9]{20,} | pypi-[\w-]{20,}
        | SG\.[\w-]{16,}\.[\w-]{16,}                           # SendGrid
        | eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}                # JSON Web Token
      )(?![\w-])
    """,
    re.X | re.S,
)
# Capitals, small letters and three digits in one long word. Hashes and UUIDs have only one case.
RANDOM_KEY = re.compile(r"(?<![\w/+.-])(?=\w*[A-Z])(?=\w*[a-z])(?=\w*\d\w*\d\w*\d)\w{32,}(?![\w/+-]|\.\w)")
# A value that a text itself calls a key. It has a digit and a letter, or is long.
NAMED_KEY = re.compile(
    r"(?<![A-Za-z])(?:api[ _-]?key|access[ _-]?key|secret(?:[ _-]?key)?|"
    r"(?:(?:auth|access|refresh|bearer|api)[ _-]?)?token|bearer|client[ _-]?secret)"
    r"[\"']?(?:\s*[:=]\s*|\s+is:?\s+|\s+)[\"']?"
    r"(?P<value>(?=[\w./+~=-]*\d)(?=[\w./+~=-]*[A-Za-z])[\w./+~-]{8,}={0,2})",
    re.I,
)

# What follows a word for a password: a sign or a verb, and then the password, which may be in quotes.
PASSWORD = re.compile(
    r"(?<![A-Za-z])(?:(?:pass(?:word|wd|code|phrase)|pwd)s?|(?:pw|pass)(?=\s*[:=]))[\"']?"
    r"(?:\s*(?P<sign>[:=]+|\s[-–]\s)\s*|\s+(?P<verb>is|was|to)(?:\s+now)?:?\s+|\s+)"
    r"(?:(?P<quote>[\"'`“])(?P<quoted>[^\"'`”\n]{1,60})[\"'`”]|(?P<bare>\S{3,60}))",
    re.I,
)
AFTER_PASSWORD = ".,;:)]}>\"'"  # of the sentence
WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*[!?]*")
COUNT = 3  # digits that are rather a number of characters than a password
# Words that follow `password:` and are none.
NO_PASSWORD = frozenset(
    "forgotten forgot required incorrect wrong invalid expired empty missing reset changed unknown none null please "
    "the your my no not and or same new old hidden protected must should".split()
)

# Length of an IBAN by country, from the IBAN registry of SWIFT.
IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BR": 29, "BY": 28,
    "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18,
    "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28, "HR": 21, "HU": 28, "IE": 22,
    "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LC": 32, "LI": 21, "LT": 20,
    "LU": 20, "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MR": 27, "MT": 31, "MU": 30, "NL": 18,
    "NO": 15, "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "SA": 24, "SC": 31, "SE": 24,
    "SI": 19, "SK": 24, "SM": 27, "ST": 25, "SV": 28, "TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24,
    "XK": 20,
}  # fmt: skip
IBAN_START = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?=[ -]?[A-Za-z0-9]{2})")

CARD = re.compile(r"(?<![\w.,/-])(?<!\d )(?:\d[ -]?){12,18}\d(?![\w/]|[.,-]\d| \d)")
CARD_GROUPS = ((4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3))
CARD_START = re.compile(r"4|5[0-9]|6[0-9]|2[2-7]|3[0-9]")

IPV4 = re.compile(r"(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?!\.?[\w-])")
IPV6 = re.compile(
    r"(?<![\w:.])(?=[0-9A-Fa-f:]*\d)[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?:\.\d{1,3}){0,3}(?![\w:])"
)
VERSION = re.compile(
    r"(?:\bversions?|\brelease|\bbuild|\bfirmware|\bsection|\bchapter|\bupdate|\bv)[ .:]*$", re.I
)

_SEP = r"[ .\u00a0\u2011-]"
PHONE = re.compile(
    rf"""
    (?<![\w.,/:+$€£#-])(?:
        (?P<plus>(?:\+|00)[ ]?[1-9](?:(?:{_SEP}|\ ?\(\d{{1,4}}\)|[ ]?/[ ]?){{0,2}}\d){{6,14}})
      | (?P<us>(?:1{_SEP})?(?:\(\d{{3}}\)[ ]?|\d{{3}}(?P<s>[ .-]))\d{{3}}(?:(?P=s)|[ .-])\d{{4}})
      | (?P<zero>(?:\(0\d{{1,5}}\)|0[1-9]\d{{0,4}})(?:(?:{_SEP}|[ ]?/[ ]?)?\d){{5,10}})
      | (?P<cued>\d(?:{_SEP}?\d){{6,14}})
    )(?![\w/%]|[.,:-]\d|\ ?[€£$])
    """,
    re.X,
)
PHONE_CUE = re.compile(
    r"\b(?:call(?:ing|ed)?|dial|phones?|tel(?:ephone|efon)?|mobile|cell(?:phone)?|fax|whats-?app|text(?:ed|ing)?|sms|"
    r"contact|reach|ring|handy|téléphone|teléfono|numéro|"
    r"(?:my|his|her|their|your|our) (?:new |old |work |home )?number)\b",
    re.I,
)
# What else a number in such a sentence may be.
OTHER_NUMBER = re.compile(
    r"\b(?:order|booking|reservation|reference|ref|confirmation|tracking|parcel|account|invoice|ticket|case|serial|"
    r"flight|policy|member(?:ship)?|customer|id|isbn|model|part|code|receipt|transaction|version|postcode|zip)"
    r"(?: (?:number|no\.?|id|code))?\b[^.?!]{0,12}$",
    re.I,
)
CUE_REACH = 40  # characters before a number in which a cue counts
DATE = re.compile(
    r"(?:0?[1-9]|[12]\d|3[01])([ .-])(?:0?[1-9]|1[0-2])\1(?:19|20)\d\d|(?:19|20)\d\d([ .-])\d\d\2\d\d"
)
MIN_PHONE, MAX_PHONE = 7, 15  # digits; the upper limit is that of E.164
NATIONAL = range(9, 13)  # digits of a number that begins with 0


def find(text: str) -> Iterator[Span]:
    """Spans of all kinds that have a form, by kind in the order of `FINDERS`; they may overlap, the first counts."""
    for kind, finder in FINDERS:
        for start, end, value in finder(text):
            yield Span(start, end, kind, value)


Found = Iterator[tuple[int, int, str]]  # start, end, value


def _keys(text: str) -> Found:
    """Keys of known services, random words of 32 characters or more, and what a text calls a key or password."""
    for match in KEYS.finditer(text):
        yield match.start(), match.end(), match[0]
    for match in RANDOM_KEY.finditer(text):
        yield match.start(), match.end(), match[0]
    for match in NAMED_KEY.finditer(text):
        yield match.start("value"), match.end("value"), match["value"]
    for match in PASSWORD.finditer(text):
        yield from _password(match)


def _password(match: re.Match[str]) -> Found:
    """The password after a word for one; nothing if what follows is an ordinary word, a mask such as ***, or a number
    of characters. After `:` or `=` a word is a password, after a verb or a space it has a digit or a sign in it.
    """
    if match["quoted"] is not None:
        yield *match.span("quoted"), match["quoted"]
        return
    value = match["bare"].rstrip(AFTER_PASSWORD)
    if not any(sign.isalnum() for sign in value) or value.lower().rstrip("!?") in NO_PASSWORD:
        return
    one_case = value.islower() or value.isupper() or value.istitle()
    is_word, is_number = one_case and bool(WORD.fullmatch(value)), value.isdecimal()
    if (is_word and match["sign"] is None) or (is_number and len(value) < COUNT):
        return
    if is_number and match["sign"] is None and match["verb"] is None:
        return
    yield match.start("bare"), match.start("bare") + len(value), value


def _urls(text: str) -> Found:
    """URLs with a secret, without the punctuation after them; URLs without one are not personal data."""
    for match in URL.finditer(text):
        url = match[0].rstrip(TRAILING)
        if has_secret(url):
            yield match.start(), match.start() + len(url), url


def has_secret(url: str) -> bool:
    """Whether a URL has credentials, a mail address or a token (query, fragment, path); True if it is no valid URL."""
    try:
        parts = urlsplit(url)
        if parts.password or (parts.username and parts.scheme.startswith("http")):
            return True
    except ValueError:  # a malformed host: not readable, so nothing is known of what it holds
        return True
    named = parse_qsl(parts.query) + parse_qsl(parts.fragment)
    if any(
        (SECRETS.search(name) and len(value) > 3) or OPAQUE_PART.fullmatch(value) for name, value in named
    ):
        return True
    return bool(EMAIL.search(url)) or any(map(OPAQUE_PART.fullmatch, parts.path.split("/")))


def _emails(text: str) -> Found:
    """Mail addresses; the value is in lower case."""
    for match in EMAIL.finditer(text):
        start = match.start() + len(match[0]) - len(match[0].lstrip(".%+-"))
        yield start, match.end(), text[start : match.end()].lower()


def _ibans(text: str) -> Found:
    """IBANs with right check digits, also in groups; the value is without spaces and hyphens, in upper case."""
    for match in IBAN_START.finditer(text):
        wanted = IBAN_LENGTHS.get(match[0][:2].upper())
        if wanted is None:
            continue
        found: list[str] = []
        index = match.start()
        while index < len(text) and len(found) < wanted:
            if text[index].isascii() and text[index].isalnum():
                found.append(text[index].upper())
            elif not (text[index] in " -" and text[index - 1] not in " -"):
                break
            index += 1
        number = "".join(found)
        if len(number) == wanted and is_iban(number) and not text[index : index + 1].isalnum():
            yield match.start(), index, number


def is_iban(number: str) -> bool:
    """Whether a text in upper case without spaces is an IBAN: a country of the list, its length, right check digits.

    The check is that of ISO 7064, mod 97-10.
    """
    if IBAN_LENGTHS.get(number[:2]) != len(number) or not (number.isascii() and number.isalnum()):
        return False
    return int("".join(str(int(sign, 36)) for sign in number[4:] + number[:4])) % 97 == 1


def _cards(text: str) -> Found:
    """Card numbers in one piece or in the usual groups; the value is the digits."""
    for match in CARD.finditer(text):
        groups = re.split("[ -]", match[0])
        number = "".join(groups)
        grouped = len(groups) == 1 or tuple(map(len, groups)) in CARD_GROUPS
        if grouped and is_card(number):
            yield match.start(), match.end(), number


def is_card(number: str) -> bool:
    """Whether a text is 13 to 19 digits, not all equal, that begin as a card's and pass Luhn's check."""
    if not (number.isascii() and number.isdecimal() and 13 <= len(number) <= 19 and CARD_START.match(number)):
        return False
    doubled = [int(digit) * (1 + index % 2) for index, digit in enumerate(reversed(number))]
    return len(set(number)) > 1 and sum(value - 9 * (value > 9) for value in doubled) % 10 == 0


def _ip_addresses(text: str) -> Found:
    """IPv4 and IPv6 addresses except loopback and 0.0.0.0 or ::, and IPv4 not after a word such as `version`."""
    for match in IPV4.finditer(text):
        try:
            address = IPv4Address(match[0])
        except AddressValueError:
            continue
        nobody = address.is_loopback or address.is_unspecified
        if not nobody and not VERSION.search(text[: match.start()][-20:]):
            yield match.start(), match.end(), str(address)
    for match in IPV6.finditer(text):
        try:
            other = IPv6Address(match[0])
        except AddressValueError:
            continue
        if not (other.is_loopback or other.is_unspecified):
            yield match.start(), match.end(), str(other)


def _phones(text: str) -> Found:
    """Phone numbers of 7 to 15 digits; the value is the digits.

    With + or 00, in the US form, with a leading 0, or after a cue such as `call`. Dates are left out, and after a word
    such as `order` all but numbers with + and in the US form.
    """
    for match in PHONE.finditer(text):
        number = re.sub(r"\D", "", match[0])
        if not MIN_PHONE <= len(number) <= MAX_PHONE or DATE.fullmatch(match[0].strip("()")):
            continue
        before = text[: match.start()][-CUE_REACH:]
        other = bool(OTHER_NUMBER.search(before))
        cued = bool(PHONE_CUE.search(before)) and not other
        international = match["plus"] is not None and (match[0][0] == "+" or not other)
        national = match["zero"] is not None and len(number) in NATIONAL and not other
        if international or match["us"] is not None or national or cued:
            yield match.start(), match.end(), number


FINDERS: tuple[tuple[str, Callable[[str], Found]], ...] = (
    ("URL", _urls),
    ("KEY", _keys),
    ("EMAIL", _emails),
    ("IBAN", _ibans),
    ("CARD", _cards),
    ("IP", _ip_addresses),
    ("PHONE", _phones),
)
