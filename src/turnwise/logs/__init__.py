"""Files of any corpus become `Dialogue`s, and dialogues become `Item`s.

`native` reads and writes our own format, `scan` counts what files hold, `items` selects what is scored, and each
reader of another format is a module that `readers.READERS` names.
"""
