"""Remembers the last results of a function of arrays, for statistics that are asked for many times on the same data.

`meta` compares every two metrics with every statistic, so that each metric's part would be computed again for each
other metric.
"""

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

import numpy as np

_RESULTS = 64
_LARGEST = (
    2**17
)  # bytes of arguments: about 4,000 items; of more the copies would count, and the work is not repeated

P = ParamSpec("P")
R = TypeVar("R")


def remembered(function: Callable[P, R]) -> Callable[P, R]:
    """The function with its last results kept by the bytes of its arguments; callers must not change a result."""
    known: OrderedDict[tuple[Any, ...], R] = OrderedDict()
    lock = Lock()

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        """The kept result, or that of the function."""
        if kwargs or sum(one.nbytes for one in args if isinstance(one, np.ndarray)) > _LARGEST:
            return function(*args, **kwargs)
        key = tuple(
            (one.dtype.str, one.shape, one.tobytes()) if isinstance(one, np.ndarray) else one for one in args
        )
        with lock:
            if key in known:
                known.move_to_end(key)
                return known[key]
        found = function(*args, **kwargs)
        with lock:
            known[key] = found
            if len(known) > _RESULTS:
                known.popitem(last=False)
        return found

    return call
