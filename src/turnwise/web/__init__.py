"""The rating app: people judge conversations, or hold them, and what they say is kept for good.

`study` says what is asked, `tasks` what it is asked about, `assignment` who is asked next. Everything that
happens is an `event` in a `log` that only grows; the `ledger` is what the events add up to. `app` turns
requests into events and the ledger into pages; `export` turns it into the native format.
"""
