"""Porter's stemmer for English (Porter 1980, An algorithm for suffix stripping).

It includes the three changes of Porter's own later program: words of one or two letters are not changed, `bli` becomes
`ble`, and `logi` becomes `log`. Without the first, `is` and `as` would lose their s and match `i` and `a`. nltk calls
this variant `MARTIN_EXTENSIONS`; its default is another one.
"""

from functools import lru_cache

# Suffix -> replacement. Only the first suffix that a word ends in is considered, even if its condition then fails;
# so a longer suffix comes before the suffixes that it ends in.
_PLURALS = {"sses": "ss", "ies": "i", "ss": "ss", "s": ""}
_DOUBLE = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble",
    "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate",
    "ator": "ate", "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al",
    "iviti": "ive", "biliti": "ble", "logi": "log",
}  # fmt: skip
_SINGLE = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_BARE = dict.fromkeys(
    "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split(), ""
)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a lower-case word."""
    if len(word) <= 2:
        return word
    word = _past(_replaced(word, _PLURALS, above=-1))
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    for endings, above in ((_DOUBLE, 0), (_SINGLE, 0), (_BARE, 1)):
        word = _replaced(word, endings, above=above)
    if word.endswith("e") and (_measure(word[:-1]) > 1 or (_measure(word) == 1 and not _short(word[:-1]))):
        word = word[:-1]
    if word.endswith("ll") and _measure(word[:-1]) > 1:
        word = word[:-1]
    return word


def _past(word: str) -> str:
    """Remove -ed or -ing, and then restore a final e or undouble a consonant where the rules say so (step 1b).

    -eed becomes -ee if the measure before it is above 0.
    """
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        rest = word.removesuffix(ending)
        if rest != word and "v" in _shape(rest):
            break
    else:
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if rest[-1:] == rest[-2:-1] and _shape(rest)[-1] == "c":
        return rest if rest[-1] in "lsz" else rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _short(rest) else rest


def _replaced(word: str, endings: dict[str, str], *, above: int) -> str:
    """The word with the first suffix in `endings` that it ends in replaced, if the rest has a measure above `above`.

    Otherwise the word itself. The suffix `ion` is replaced only after s or t.
    """
    if not word.endswith(tuple(endings)):  # a fast test that excludes most words
        return word
    for ending, other in endings.items():
        if word.endswith(ending):
            rest = word[: -len(ending)]
            fits = _measure(rest) > above and (ending != "ion" or rest[-1] in "st")
            return rest + other if fits else word
    return word


def _shape(word: str) -> str:
    """`c` for a consonant and `v` for a vowel; y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        shape += "v" if letter in "aeiou" or (letter == "y" and shape[-1:] == "c") else "c"
    return shape


def _measure(word: str) -> int:
    """Porter's m: the number of times a vowel is followed by a consonant."""
    return _shape(word).count("vc")


def _short(word: str) -> bool:
    """Porter's *o: the word ends in consonant, vowel, consonant, and the last is not w, x or y."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"
