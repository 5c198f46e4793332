"""The file of stored vectors: bit for bit, bounded, and never a wrong vector."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest

from ambilearn.features.cache import FILE_NAME, VectorCache


def vector_of(key):
    """What belongs to a key: any other vector is wrong."""
    return np.random.default_rng([*key]).normal(size=64).astype(np.float32)


def keys_of(numbers):
    return [number.to_bytes(4, "big") for number in numbers]


def check(found):
    for key, vector in found.items():
        np.testing.assert_array_equal(vector, vector_of(key))


@pytest.fixture
def keys():
    return keys_of(range(1200))


@pytest.fixture
def cache(tmp_path, keys):
    cache = VectorCache(tmp_path / "new" / "folder")
    cache.put({key: vector_of(key) for key in keys})
    return cache


def test_vectors_come_back_bit_for_bit(cache, keys):
    again = VectorCache(cache.path.parent)
    found = again.get([*keys, b"another"])
    assert set(found) == set(keys)
    check(found)
    odd = np.array([np.float32("nan"), -0.0, 1e-45, 3e38], dtype=np.float32)
    again.put({b"odd": odd})
    assert again.get([b"odd"])[b"odd"].tobytes() == odd.tobytes()


def test_a_stored_vector_is_not_changed(cache, keys):
    cache.put({keys[0]: np.zeros(64, dtype=np.float32)})
    check(cache.get(keys[:1]))


def test_the_oldest_vectors_are_removed(tmp_path):
    cache = VectorCache(tmp_path, max_bytes=200_000)
    for start in range(0, 3000, 100):
        cache.put({key: vector_of(key) for key in keys_of(range(start, start + 100))})
        assert cache.path.stat().st_size < 300_000
    found = cache.get(keys_of(range(3000)))
    check(found)
    assert 100 <= len(found) < 1000
    assert keys_of([2999])[0] in found
    assert keys_of([0])[0] not in found


@pytest.mark.parametrize("damage", ["empty", "text", "start", "table", "truncated"])
def test_a_damaged_file_is_replaced(cache, keys, damage):
    content = cache.path.read_bytes()
    damaged = {
        "empty": b"",
        "text": b"not a database\n" * 1000,
        "start": b"\0" * 5000 + content[5000:],
        "table": content.replace(b"vectors", b"factors"),
        "truncated": content[: len(content) // 2],
    }[damage]
    cache.path.write_bytes(damaged)
    check(cache.get(keys))
    cache.put({key: vector_of(key) for key in keys})
    found = cache.get(keys)
    check(found)
    assert len(found) == len(keys)


def test_a_changed_bit_is_never_returned(cache, keys):
    generator = random.Random(0)
    content = cache.path.read_bytes()
    for _ in range(20):
        damaged = bytearray(content)
        for place in generator.choices(range(len(content)), k=20):
            damaged[place] ^= 1 << generator.randrange(8)
        cache.path.write_bytes(damaged)
        check(cache.get(keys))
        cache.put({key: vector_of(key) for key in keys[:50]})
        check(cache.get(keys[:50]))


def test_a_damaged_vector_is_stored_again(cache, keys):
    with sqlite3.connect(cache.path) as connection:
        connection.execute("UPDATE vectors SET vector = zeroblob(256) WHERE key = ?", keys[:1])
    connection.close()
    assert len(cache.get(keys)) == len(keys) - 1
    cache.put({keys[0]: vector_of(keys[0])})
    check(cache.get(keys))
    assert keys[0] in cache.get(keys)


def test_work_goes_on_if_the_folder_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    cache = VectorCache(tmp_path / "file")
    with pytest.warns(UserWarning, match=r"cannot be used: .*\. The work goes on without it"):
        assert cache.get([b"a"]) == {}
    cache.put({b"a": vector_of(b"a")})  # no second warning


def test_work_goes_on_if_the_disk_is_full(tmp_path, keys, monkeypatch):
    cache = VectorCache(tmp_path)
    cache.put({keys[0]: vector_of(keys[0])})
    connect = sqlite3.connect

    def connect_bounded(*args, **options):
        connection = connect(*args, **options)
        connection.execute("PRAGMA max_page_count = 8")  # SQLite's own way to a full disk
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect_bounded)
    with pytest.warns(UserWarning, match="full"):
        cache.put({key: vector_of(key) for key in keys})
    monkeypatch.undo()
    check(VectorCache(tmp_path).get(keys))
    assert keys[0] in VectorCache(tmp_path).get(keys)


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_cache import keys_of, vector_of
from ambilearn.features.cache import VectorCache
cache = VectorCache(Path(sys.argv[1]))
start = int(sys.argv[3])
print("ready", flush=True)
for first in range(start, start + int(sys.argv[4]), 20):
    cache.put({key: vector_of(key) for key in keys_of(range(first, first + 20))})
print("done", flush=True)
"""


def start_writer(folder, start, number):
    command = [sys.executable, "-c", WRITER, folder, os.path.dirname(__file__), start, number]
    return subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, text=True)


@pytest.mark.heavy
def test_two_processes_write_at_once(tmp_path):
    writers = [start_writer(tmp_path, 0, 2000), start_writer(tmp_path, 1000, 2000)]
    assert [writer.communicate()[0] for writer in writers] == ["ready\ndone\n"] * 2
    found = VectorCache(tmp_path).get(keys_of(range(3000)))
    check(found)
    assert len(found) == 3000


@pytest.mark.heavy
@pytest.mark.skipif(os.name != "posix", reason="kills a process by a signal")
def test_a_killed_process_leaves_whole_vectors(tmp_path):
    generator = random.Random(0)
    cache = VectorCache(tmp_path, max_bytes=2**40)
    stored: set[bytes] = set()
    for kill in range(int(os.environ.get("AMBILEARN_KILLS", "10"))):
        writer = start_writer(tmp_path, 10_000 * kill, 10_000)
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        time.sleep(generator.uniform(0, 0.2))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        found = cache.get(keys_of(range(10_000 * kill, 10_000 * kill + 10_000)))
        check(found)
        assert len(found) % 20 == 0  # each write is stored as a whole
        stored |= set(found)
    assert set(cache.get([*stored])) == stored
    assert cache.path.name == FILE_NAME
