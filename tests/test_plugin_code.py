"""Code of plugins: its output goes to standard error, it cannot end the process, and its errors name their line."""

import sys
import threading
import time
from pathlib import Path

import pytest

from turnwise import plugin_code as module
from turnwise.errors import PluginError
from turnwise.plugin_code import PluginExit, described, plugin_code
from turnwise.registry import Offer


def test_output_inside_goes_to_standard_error_and_outside_to_standard_output(capsys):
    original = sys.stdout
    with plugin_code():
        print("plugin")
        with plugin_code():
            print("inner")
        print("again")
    print("result")
    assert sys.stdout is original
    out, err = capsys.readouterr()
    assert (out, err) == ("result\n", "plugin\ninner\nagain\n")


def test_threads_that_a_plugin_starts_print_on_standard_error_too(capsys):
    with plugin_code():
        thread = threading.Thread(target=print, args=("from a thread",))
        thread.start()
        thread.join()
    out, err = capsys.readouterr()
    assert (out, err) == ("", "from a thread\n")


def test_a_call_that_is_abandoned_in_a_thread_does_not_take_the_output_of_others(capsys):
    begun, end = threading.Event(), threading.Event()

    def abandoned() -> None:
        with plugin_code():
            begun.set()
            end.wait(180)

    thread = threading.Thread(target=abandoned, daemon=True)
    thread.start()
    begun.wait(180)
    print("result")
    with plugin_code():
        print("plugin")
    print("another")
    end.set()
    thread.join()
    out, err = capsys.readouterr()
    assert (out, err) == ("result\nanother\n", "plugin\n")
    assert not isinstance(sys.stdout, module._Stdout)


def test_what_would_end_the_process_is_an_exception():
    with pytest.raises(PluginExit, match=r"called sys.exit\('enough'\)"), plugin_code():
        sys.exit("enough")
    with pytest.raises(KeyboardInterrupt), plugin_code():
        raise KeyboardInterrupt


def test_a_traceback_is_printed_once_for_a_line_if_it_is_asked_for(capsys, monkeypatch):
    def fail(message: str) -> None:
        with pytest.raises(ValueError, match=message), plugin_code():
            raise ValueError(message)

    fail("first")
    assert capsys.readouterr().err == ""
    monkeypatch.setenv(module.TRACEBACKS, "1")
    fail("second")
    fail("third")
    said = capsys.readouterr().err
    assert said.count("Traceback (most recent call last)") == 1
    assert "ValueError: second" in said


def test_an_exception_names_the_last_line_of_its_package(tmp_path, monkeypatch):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").touch()
    (tmp_path / "pack" / "one.py").write_text("import json\n\n\ndef fail():\n    json.loads('{')\n")
    monkeypatch.syspath_prepend(tmp_path)
    from pack.one import fail

    with pytest.raises(ValueError, match="Expecting") as caught:
        fail()
    assert described(caught.value, "pack.one").endswith("(pack/one.py:5)")
    assert "pack/" not in described(caught.value, "another")


def test_a_slow_import_says_which_package_it_waits_for(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(module, "SLOW", 0.05)
    (tmp_path / "slow_pack.py").write_text("import time\nprint('loading')\ntime.sleep(1)\nM = 1\n")
    (tmp_path / "quick_pack.py").write_text("M = 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert Offer("metric", "slow", "slow_pack:M", "slow-package").load() == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "note: importing slow_pack, for metric `slow` of slow-package, takes long" in err
    monkeypatch.setattr(module, "SLOW", 1.0)
    assert Offer("metric", "quick", "quick_pack:M", "quick-package").load() == 2
    time.sleep(1.2)
    assert capsys.readouterr().err == ""


def test_an_import_that_exits_is_an_error_of_its_package(tmp_path: Path, monkeypatch):
    (tmp_path / "exiting_pack.py").write_text("import sys\nsys.exit('bye')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PluginError) as caught:
        Offer("metric", "exits", "exiting_pack:M", "exiting-package").load()
    assert str(caught.value) == (
        "metric `exits` of exiting-package: cannot be loaded from exiting_pack:M: called sys.exit('bye') "
        "(exiting_pack.py:2)"
    )
