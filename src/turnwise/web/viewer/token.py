"""The secret part of the viewer's links.

It depends on the data and on a key in the user's cache folder, so that a link to an item works again whenever the same
data is viewed on this machine, and a link to one data set does not open another.
"""

import base64
import hmac
import os
import secrets
from collections.abc import Sequence

from turnwise.encode.models.catalogue import cache_home

KEY = "viewer.key"  # in the cache folder, readable by its owner only
KEY_BYTES = 32
TOKEN_BYTES = 24


def link_token(names: Sequence[str]) -> str:
    """The token for the data with these names, 192 bits long; a random one if there are none or no key can be kept."""
    key = _key() if names else None
    if key is None:
        return secrets.token_urlsafe(TOKEN_BYTES)
    made = hmac.digest(key, "\0".join(sorted(names)).encode("utf-8", "surrogateescape"), "sha256")
    return base64.urlsafe_b64encode(made[:TOKEN_BYTES]).decode()


def _key() -> bytes | None:
    """The key of this user, made at the first use; None if it can neither be read nor written."""
    path = cache_home() / KEY
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            draft = path.with_name(f"{KEY}.{os.getpid()}.tmp")
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(secrets.token_bytes(KEY_BYTES))
            draft.replace(path)
        found = path.read_bytes()
    except OSError:
        return None
    return found if len(found) >= KEY_BYTES else None
