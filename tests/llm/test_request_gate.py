"""The gate before a server: how many requests pass in a time, and waits that the server asks for."""

from itertools import pairwise
from threading import Event, Thread
from time import monotonic

from turnwise.llm.gate import Gate


def passing_times(gate: Gate, count: int) -> list[float]:
    times: list[float] = []

    def ask() -> None:
        gate.wait(float("inf"), Event())
        times.append(monotonic())

    threads = [Thread(target=ask) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(times)


def test_requests_of_many_threads_keep_the_rate_without_a_burst():
    times = passing_times(Gate(per_minute=60 / 0.05), 6)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert times[-1] - times[0] >= 0.95 * 5 * 0.05
    assert min(gaps) > 0.02


def test_without_a_rate_nothing_waits_until_the_server_asks_for_it():
    gate, start = Gate(), monotonic()
    passing_times(gate, 4)
    assert monotonic() - start < 0.2
    gate.close(0.2)
    start = monotonic()
    passing_times(gate, 2)
    assert monotonic() - start >= 0.19


def test_a_stop_and_a_deadline_end_the_waiting():
    gate, stop = Gate(), Event()
    gate.close(60)
    start = monotonic()
    gate.wait(start + 0.05, stop)
    stop.set()
    gate.wait(start + 60, stop)
    assert monotonic() - start < 1
