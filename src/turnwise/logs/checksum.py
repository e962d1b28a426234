"""Bytes with a checksum, for files that a later run reads: a flipped byte is noticed, and the content not used."""

import zlib

_LENGTH = 4  # bytes of the CRC-32 before the content


def sealed(content: bytes) -> bytes:
    """The content after its checksum, as `unsealed` reads it."""
    return zlib.crc32(content).to_bytes(_LENGTH, "little") + content


def unsealed(data: bytes) -> bytes | None:
    """The content of what `sealed` returned; None if a byte differs, it was cut, or it never had a checksum."""
    checksum, content = data[:_LENGTH], data[_LENGTH:]
    return content if len(data) > _LENGTH and sealed(content)[:_LENGTH] == checksum else None
