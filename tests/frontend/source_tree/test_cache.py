"""Entries come back as they were put, and a broken one is absent."""

from __future__ import annotations

import os
import pickle
import time
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asphalt.frontend.source_tree.cache import Cache, cache_directory, key_of, pack, unpack
from asphalt.ir.expr import Lit, Ref
from asphalt.ir.source import Form, Span, Trivia, TriviaKind
from asphalt.ir.stmt import Assign, Raw
from asphalt.ir.tree import File, Leaf

LEAF = Leaf(
    Assign(Ref("a", "A", (Lit("integer", "1"),)), Lit("real", "2.0")),
    Span("a.f90", 1, 1, 1, 8),
    lead=(Trivia(TriviaKind.COMMENT, "! c\n"),),
    body="A(1) = 2.0",
)
FILE = File("a.f90", Form.FREE, "\n", 132, (), stray=(LEAF, LEAF))


def test_round_trip(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    assert cache.get("00ab") is None
    cache.put("00ab", FILE)
    assert cache.get("00ab") == FILE


def test_without_a_directory_nothing_is_kept() -> None:
    cache = Cache(None)
    cache.put("00ab", FILE)
    assert cache.get("00ab") is None
    cache.prune()


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file")
    cache.put("00ab", FILE)
    assert cache.get("00ab") is None


@given(st.integers(0, 400), st.integers(0, 255))
def test_a_damaged_entry_is_absent_or_as_it_was(at: int, byte: int) -> None:
    with TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        cache.put("00ab", FILE)
        path = Path(folder) / "00" / "ab"
        data = bytearray(path.read_bytes())
        data[at % len(data)] = byte
        path.write_bytes(bytes(data))
        assert cache.get("00ab") in (None, FILE)


def test_damage_on_disk_is_seen_and_mended(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("00ab", FILE)
    path = tmp_path / "00" / "ab"
    for damaged in (b"", path.read_bytes()[:-1], path.read_bytes()[:-1] + b"x", b"junk" * 99):
        path.write_bytes(damaged)
        assert cache.get("00ab") is None
    cache.put("00ab", FILE)
    assert cache.get("00ab") == FILE


def test_only_our_classes_come_back(tmp_path: Path) -> None:
    assert unpack(pickle.dumps(print)) is None
    assert unpack(pickle.dumps(Path(tmp_path))) is None


@given(st.lists(st.text(max_size=3), max_size=4), st.lists(st.text(max_size=3), max_size=4))
def test_keys_differ_where_parts_differ(one: list[str], other: list[str]) -> None:
    try:
        assert (key_of(*one) == key_of(*other)) == (one == other)
    except UnicodeEncodeError:
        assert any("\ud800" <= c <= "\udfff" for part in one + other for c in part)


def write_often(directory: str) -> None:
    for i in range(50):
        Cache(Path(directory)).put("00ab", Leaf(Raw(f"x{i}" * 1000)))


def test_writers_at_the_same_time(tmp_path: Path) -> None:
    processes = [
        get_context("fork").Process(target=write_often, args=(str(tmp_path),)) for _ in range(3)
    ]
    for process in processes:
        process.start()
    cache = Cache(tmp_path)
    while any(process.is_alive() for process in processes):
        assert isinstance(cache.get("00ab"), Leaf | None)
    assert isinstance(cache.get("00ab"), Leaf)
    assert [path.name for path in (tmp_path / "00").iterdir()] == ["ab"]


def test_old_entries_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path)
    for key, age in (("00a", 40), ("00b", 2), ("00c", 1)):
        cache.put(key, FILE)
        then = time.time() - age * 86400
        os.utime(tmp_path / "00" / key[2:], (then, then))
    cache.prune()
    assert sorted(path.name for path in (tmp_path / "00").iterdir()) == ["b", "c"]
    monkeypatch.setattr("asphalt.frontend.source_tree.cache._LARGEST", len(pack(FILE)) + 16)
    cache.prune()  # not again on the same day
    assert cache.get("00b") == FILE
    (tmp_path / "pruned").unlink()
    cache.prune()
    assert sorted(path.name for path in (tmp_path / "00").iterdir()) == ["c"]


def test_the_directory_follows_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "asphalt"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_directory() == Path.home() / ".cache" / "asphalt"
