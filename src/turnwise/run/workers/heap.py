"""Keeps freed memory in the process of a command or worker, which resamples with arrays of a megabyte many times.

By default glibc gives such an array back to the system when it is freed and asks for it anew, and the system clears
every page: `meta` with six metrics had 207,000 page faults and .55 s of system time, and has 27,000 and .13 s so. At
most `_KEPT` bytes are kept at the end of the heap. A library must not set this for its user's process.
"""

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of malloc.h
_KEPT = 2**24
_MAPPED = 2**23  # arrays from this size on are still given back at once


def keep_freed_memory() -> None:
    """Set the limits where the C library is glibc; else nothing happens."""
    import ctypes

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library; Windows has no main program to look in
        return
    mallopt(_M_TRIM_THRESHOLD, _KEPT)
    mallopt(_M_MMAP_THRESHOLD, _MAPPED)
