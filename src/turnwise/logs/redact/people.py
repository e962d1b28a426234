"""Names of people by rules: titles, introductions, greetings, closings, and a list of first names.

The list is of the US census of 1990 (data/first_names.txt), without names that are words or places too. A name that no
rule introduces and whose first part is not on the list is not found.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

_LETTERS = [chr(code) for code in range(0x41, 0x250) if chr(code).isalpha()]
UPPER = "".join(letter for letter in _LETTERS if letter.isupper())
LOWER = "".join(letter for letter in _LETTERS if letter.islower())
LETTER = rf"[{UPPER}{LOWER}]"

_PART = rf"(?:[OD]['’]|M[a]?c)?[{UPPER}][{LOWER}]+(?:-[{UPPER}][{LOWER}]+)*"
_PARTICLE = r"(?:van|von|de|der|den|del|della|di|da|dos|du|la|le|el|al|bin|ibn|ter|ten|zu)"
_MORE = rf"(?:[ ](?:[{UPPER}]\.[ ])?(?:{_PARTICLE}[ ]){{0,2}}{_PART})"
NAME = rf"(?:{_PART}{_MORE}{{0,2}})"
_ANY = rf"(?:{NAME}|{LETTER}{{2,20}})"  # some people write their own name in lower case
_NO_LETTER = rf"(?!{LETTER}|['’]{LETTER}{{2}})"
_END = (
    r"(?=\s*(?:[,.!?;:)\n–—-]|$|\band\b|\bfrom\b|\bhere\b|\bspeaking\b|\bcalling\b|\bwith\b|\bat\b|\bbut\b))"
)

TITLE = re.compile(
    rf"(?<!\w)(?:Mrs?|Ms|Mx|Dr|Prof|Herr|Frau|Monsieur|Madame|Mme|Señora?|Sra?|Signora?)(?:\.\s?|\s)"
    rf"(?P<name>(?:{_PARTICLE}[ ]){{0,2}}{NAME}){_NO_LETTER}"
    rf"|(?<!\w)(?:Miss|Mister|Doctor|Professor|Sir|Aunt|Uncle|Captain|Officer)\s(?P<also>{NAME}){_NO_LETTER}"
)
# After these the next word is a name, however it is written.
STRONG = re.compile(
    rf"(?i:\b(?:my|his|her|the guest['’]?s?|the lead) (?:full |first |last )?name is|\bmy name['’]s|\bname['’]s|"
    rf"\bnames? ?:|\bi am called|\bi['’]m called|\bunder the name(?: of)?|\bin the name of|\bunder)"
    rf"\s+(?P<name>{_ANY}){_NO_LETTER}"
)
# After these it often is one: only with a capital, or from the list.
WEAK = re.compile(
    rf"(?i:\bi am|\bi['’]m|\bim|\bthis is|\bcall me|\bit['’]s|\bspeak(?:ing)? (?:to|with)|\bspoke (?:to|with)|"
    rf"\btalk(?:ing)? (?:to|with)|\bmeet|\bask for|\bask|\bregards to)\s+(?P<name>{_ANY}){_NO_LETTER}{_END}"
)
GREETING = re.compile(
    rf"(?i:(?:^|(?<=[\n.!?\"“]\s)|(?<=\n))(?:hi|hello|hey|dear|good (?:morning|afternoon|evening|day)|thanks|thank you|"
    rf"bye|goodbye|welcome(?: back)?|sorry|hiya|howdy|hola|bonjour|hallo|yes|no|ok|okay|sure|well))"
    rf"(?i:\s+again)?,?\s+(?P<name>{_ANY}){_NO_LETTER}(?=\s*(?:[,.!?;:\n–—]|$))"
)
CLOSING = re.compile(
    rf"(?i:\b(?:(?:best|kind|warm|many|with kind)?\s*(?:regards|wishes|thanks)|cheers|sincerely|yours(?: \w+)?|"
    rf"best|love|xo+|respectfully|thank you|thanks(?: a lot| so much| in advance)?|cordially))"
    rf"[ \t]{{0,3}}[,.!–—-]{{0,3}}[ \t]{{0,3}}\r?\n\s{{0,5}}"
    rf"(?=(?P<name>{NAME}){_NO_LETTER}\s*(?:[,.\n|]|$))"
)
# One to three words in lower case that end a sentence, or before which one ends without a point.
OWN_NAME = re.compile(
    rf"{LETTER}[{LOWER}'’-]+(?: [{LOWER}][{LOWER}'’-]+){{0,2}}(?=\s*(?:[,.!?;\n]|$)|\s(?:and|from|[{UPPER}]))"
)
BOOKED = re.compile(
    rf"(?i:\b(?:book|reserve|reservation|tickets?|table|room|appointment)\b[^.?!\n]{{0,20}}? for)"
    rf" (?P<name>{NAME}){_NO_LETTER}"
)
SPOKE = re.compile(
    rf"(?<!{LETTER})(?P<name>{NAME}) (?=(?:told|said|says|asked|wrote|called|recommended|mentioned|suggested)\b)"
)
ASKED = re.compile(
    rf"(?i:\b(?:ask|asked|tell|told|remind|let|invite|help|want|wants)) "
    rf"(?P<name>{NAME}) (?=(?:to|that|if|whether|about|know)\b)"
)
LABELLED = re.compile(
    rf"(?i:\b(?:passenger|guest|customer|client|patient|attendee|contact|caller|sender|recipient|traveller|traveler|"
    rf"signed|attn|from|cc)(?: \w{{1,8}})?):\s?(?P<name>{NAME}){_NO_LETTER}"
)
LISTED = re.compile(rf"(?<!{LETTER})(?<!['’])(?P<name>{NAME}){_NO_LETTER}")

# Capitalised words that follow the cues above and are no names.
SYLLABLE = 3  # letters of a name that is also a common word: An, Do, So, You
NOT_NAMES = frozenset(
    """
    a an the i it he she we you they this that there here and or but so if as at by for from in of on to with
    not no yes all also just very really still sure sorry glad happy afraid calling looking trying going
    coming having being my your his her our their me him us them what when where who why how good great fine
    nice well okay ok right wrong thanks thank please hello hi hey dear sir madam maam ma'am miss mister mrs
    mr ms dr everyone everybody folks guys team friend friends man dude mate buddy honey darling love mom mum
    mommy dad daddy mother father grandma grandpa son daughter doctor professor officer captain president lord
    god jesus christ heaven support service customer agent assistant bot manager admin sales reception help
    desk bank monday tuesday wednesday thursday friday saturday sunday january february march april may june
    july august september october november december today tomorrow yesterday christmas easter thanksgiving
    halloween morning afternoon evening american british english scottish welsh irish french german italian
    spanish portuguese dutch belgian swiss austrian polish russian ukrainian greek turkish chinese japanese
    korean vietnamese thai indian pakistani arab african asian european australian canadian mexican brazilian
    swedish norwegian danish finnish czech hungarian jewish muslim catholic christian buddhist hindu latino
    latin hispanic america england britain scotland wales ireland france germany italy spain portugal china
    japan korea india russia canada australia mexico brazil europe africa asia london paris cambridge oxford
    york boston chicago washington new north south east west street road avenue hotel airport station
    university college school hospital church park google facebook apple microsoft amazon netflix windows
    linux android siri alexa tv pc gps atm usa uk eu un let lets can could would should will shall do does did
    is are was were have has had be been tell give get go come see bye goodbye cheers regards sincerely best
    kind yours wishes someone somebody nobody anyone anybody one none never ever people nothing something
    everything look wait stop excuse pardon maybe perhaps actually then now
    """.split()
)
# After a name of the list: it is a place, a firm or a day.
PLACE = re.compile(
    r"(?:\s?['’]s)?\s+(?:St(?:reet)?\.?|Road|Rd\.?|Ave(?:nue)?\.?|Lane|Way|Drive|Court|Close|Square|Place|Park|Gardens?|"
    r"Country|Hotel|Hostel|Inn|Lodge|House|Guest ?house|Guest|Bed|B&B|College|University|School|Hospital|Church|"
    r"Cathedral|Chapel|Airport|Station|Bridge|Islands?|River|Lake|Beach|Bay|Hills?|Valley|Mountains?|City|Town|Village|"
    r"County|Hall|Museum|Gallery|Library|Theat(?:re|er)|Stadium|Tower|Building|Cent(?:re|er)|Market|Mall|Restaurant|"
    r"Pizzeria|Cafe|Café|Bar|Pub|Brewery|Club|Shop|Store|Bank|Company|Inc|Ltd|Day|Award|Prize)\b",
    re.I,
)
BEFORE_PLACE = re.compile(
    r"\b(?:St\.?|Saint|San|Santa|Lake|Mount|Mt\.?|Port|Fort|the|Cape|Los|Las|El|La|Kings?(?:\s?['’]s)?|Holy)\s$",
    re.I,
)


@cache
def first_names() -> frozenset[str]:
    """The first names of the list, in lower case."""
    return frozenset(files("turnwise.data").joinpath("first_names.txt").read_text("utf-8").split())


def find(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each name of a person; the same name may come twice, and places may overlap."""
    for pattern in (TITLE, CLOSING):
        for match in pattern.finditer(text):
            group = "name" if match["name"] is not None else "also"
            yield from _trimmed(text, *match.span(group))
    for match in STRONG.finditer(text):
        strict = match[0].lower().startswith("under ")  # "under Smith", and also "under control"
        yield from _introduced(text, *match.span("name"), sure=not strict)
    for pattern in (WEAK, GREETING, BOOKED, ASKED, LABELLED, SPOKE):
        for match in pattern.finditer(text):
            if pattern is SPOKE and match["name"].endswith("ing"):  # "Tracking says"
                continue
            yield from _introduced(text, *match.span("name"), sure=False)
    for match in LISTED.finditer(text):
        yield from _listed(text, *match.span("name"))


def _introduced(text: str, start: int, end: int, *, sure: bool) -> Iterator[tuple[int, int]]:
    """The place of a name that other words introduce; nothing if it is no name.

    In lower case it must be a first name of the list; if the words are `sure` to introduce a name, a row of words
    that are no common words will do.
    """
    if text[start].isupper():
        yield from _trimmed(text, start, end)
        return
    word = text[start:end].lower()
    if word in NOT_NAMES:
        return
    if sure and not word.endswith(("ing", "ed")):
        row = OWN_NAME.match(text, start)
        if row and not any(part in NOT_NAMES for part in row[0].lower().split()):
            end = row.end()
        elif word not in first_names():
            return
        yield start, end
    elif word in first_names():
        yield start, end


def _listed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The part of a row of capitalised words from the first that is a first name of the list on.

    Nothing if there is none, or if it is part of a place's name.
    """
    for word in re.finditer(rf"[{UPPER}{LOWER}'’-]+", text[start:end]):
        first = word[0].split("-")[0].lower()
        if first in first_names():
            begin = start + word.start()
            after = [
                begin + len(word[0]),
                *(start + later.start() for later in re.finditer(" ", text[start:end])),
                end,
            ]
            place = any(PLACE.match(text, here) for here in after if here > begin)
            if not place and not BEFORE_PLACE.search(text[:begin][-10:]):
                yield from _trimmed(text, begin, end)
            return


def _ends_a_name(text: str, start: int, end: int) -> bool:
    """Whether the last word of a row of capitalised words is a short one that ends a name, as in `Nguyen Van An.`, and
    no article or pronoun: it is not the first of the row, and nothing follows in the same clause.
    """
    *before, word = text[start:end].split()
    return bool(before) and len(word) <= SYLLABLE and bool(re.match(r"\s*(?:[,.!?;:)\n]|$)", text[end:]))


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The name up to the first word that is no name, without particles and initials at its end; nothing if none is
    left.
    """
    last = start
    for word in re.finditer(r"\S+", text[start:end]):
        plain = word[0].strip(".").lower()
        if (
            plain in NOT_NAMES
            and plain not in first_names()
            and not _ends_a_name(text, start, start + word.end())
        ):
            break
        last = start + word.end()
    while last > start and re.search(rf"(?:^|\s)(?:{_PARTICLE}|[{UPPER}]\.)$", text[start:last]):
        last = start + len(text[start:last].rpartition(" ")[0])
    if last > start:
        yield start, last
