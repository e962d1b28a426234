"""Write src/turnwise/data/first_names.txt, the first names that `convert --redact` knows.

`python -m tools.make_first_names FOLDER DIALOGUES.jsonl.gz` reads `dist.male.first` and `dist.female.first` of the US
Census Bureau's 1990 census in FOLDER (public domain; the PyPI package `names` 0.3.0 has them), and dialogues in mixed
case (DailyDialog). A name that these dialogues also write in lower case ("will", "grace") is a word and left out.
So are names of places, months and nations.
"""

import gzip
import json
import re
import sys
from collections import Counter
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src/turnwise/data/first_names.txt"
LOWER_CASE = 2  # occurrences in lower case from which a name may be a word
SHARE = 0.05  # share of its occurrences in lower case from which it is one
SHORTEST = 3  # letters
PLACES = frozenset(
    "africa alexa alexandria america angola april arizona asia atlanta august augusta austin barcelona "
    "berlin boston brazil brooklyn cairo calgary california cambridge carolina charleston charlotte chelsea "
    "chester chicago chin china christ christian christmas cleveland colorado columbus cuba dakota dallas "
    "deacon denver devon disney dublin duke dutch earl easter eden egypt english erie europe fairfield "
    "florence florida ford france francisco french friday geneva georgia german germany google hamilton han "
    "harvard hilton holland houston india indiana ireland irish israel italy jackson jamaica jan january "
    "jersey jerusalem jesus jordan june kansas kent kenya king kingston korea lancaster les lexus lincoln "
    "lisbon london long lord louisiana lourdes love madison major manchester may melbourne mercedes mexico "
    "miami milan mon monday monroe montana montreal nevada odessa orlando oxford paris persia peru "
    "philadelphia phoenix porsche portland prince princess princeton queen rochester roma rome russia salem "
    "san santa santiago saturday savannah seattle see sidney siri so spain stanford sunday sydney syracuse "
    "tesla texas toronto toyota trinidad trinity troy tuesday utah valencia vancouver venice venus victoria vienna "
    "virginia washington wellington windsor york".split()
)


def main() -> None:
    folder, dialogues = Path(sys.argv[1]), sys.argv[2]
    names = {
        line.split()[0].lower()
        for kind in ("male", "female")
        for line in (folder / f"dist.{kind}.first").read_text().splitlines()
    }
    words: Counter[str] = Counter()
    with gzip.open(dialogues, "rt", encoding="utf-8") as lines:
        for line in lines:
            for message in json.loads(line)["messages"]:
                words.update(re.findall(r"\b[A-Z]?[a-z]+\b", message["content"]))
    kept = {name for name in names if len(name) >= SHORTEST and not _is_word(name, words)} - PLACES
    TARGET.write_text("\n".join(sorted(kept)) + "\n")
    print(f"{TARGET}: {len(kept)} of {len(names)} names")


def _is_word(name: str, counts: Counter[str]) -> bool:
    lower = counts[name]
    return lower >= LOWER_CASE and lower >= SHARE * (lower + counts[name.capitalize()])


if __name__ == "__main__":
    main()
