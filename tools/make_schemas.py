"""`python -m tools.make_schemas`: writes the JSON Schemas of dialogues, results.json and scenarios into the
package, from the types. Tests hold the files equal to what this writes.
"""

from tools.written import ROOT, write
from turnwise.logs import schema as dialogue
from turnwise.report import schema as results
from turnwise.scenarios import schema as scenarios

if __name__ == "__main__":
    for one in (dialogue, results, scenarios):
        write(ROOT / "src" / "turnwise" / "data" / one.FILE, one.text())
