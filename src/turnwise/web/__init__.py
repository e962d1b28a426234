"""The rating app: a web server on which people rate dialogues, compare replies, write replies or talk to agents.

`study.definition` has the questions, `study.tasks` the pages to answer, and `study.assignment` chooses the next task
of a rater. Everything that happens is an `Event` in an append-only log (`storage`). The `Ledger` is the state that
follows from the events. `pages` turns requests into events and the ledger into HTML; `study.export` writes it in the
native format.
"""
