"""Checksums, Snappy, tables and records: known values, round trips, and every kind of damage."""

import os
import struct
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualgrad.files import crc32c as crc32c_module
from dualgrad.files import records, table
from dualgrad.files.crc32c import crc32c, in_c, masked, masked_crc32c
from dualgrad.files.snappy import decompress
from dualgrad.files.varints import varint
from engine.runtime.errors import DataLossError, InvalidArgumentError, NotFoundError

# ---- checksums -------------------------------------------------------------------------------------------------------


def by_bit(data: bytes) -> int:
    """The checksum by its definition."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    return crc ^ 0xFFFFFFFF


WAYS: dict[str, Any] = {"python": None}
if in_c:
    portable = SimpleNamespace(crc32c=lambda data, before: in_c.crc32c(data, before, True))
    WAYS |= {"processor": in_c, "portable": portable}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the ways in which checksums are computed: by an instruction, by tables in C, and by NumPy."""
    monkeypatch.setattr(crc32c_module, "in_c", WAYS[request.param])
    monkeypatch.setattr(crc32c_module, "_LANES", 4)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("data", "crc"),
    # RFC 3720, section B.4
    [(bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43), (bytes(range(32)), 0x46DD794E), (b"", 0)],
)
def test_known_checksums(data: bytes, crc: int) -> None:
    assert crc32c(data) == crc


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("size", [1, 2, 3, 63, 2047, 2048, 2049, 4097, 16384 + 5, 70001])
def test_long_buffers_have_the_checksum_of_the_definition(size: int) -> None:
    data = np.random.default_rng(size).bytes(size)
    assert crc32c(data) == by_bit(data)
    assert crc32c(memoryview(data)[size // 3 :], crc32c(data[: size // 3])) == by_bit(data)


def test_a_mask_can_be_taken_away() -> None:
    stored = masked(0x12345678)
    rotated = (stored - 0xA282EAD8) & 0xFFFFFFFF
    assert (rotated >> 17 | rotated << 15) & 0xFFFFFFFF == 0x12345678


# ---- Snappy ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("compressed", "plain"),
    [
        (b"\x00", b""),
        (b"\x03\x08abc", b"abc"),
        (b"\x06\x04ab\x01\x02", b"ababab"),  # a copy of seven or fewer that overlaps itself
        (b"\x08\x0cabcd\x0e\x04\x00", b"abcdabcd"),  # two bytes of offset
        (b"\x08\x0cabcd\x0f\x04\x00\x00\x00", b"abcdabcd"),  # four
        (b"\x46\xf0\x45" + bytes(range(70)), bytes(range(70))),  # a literal whose length has a byte of its own
    ],
)
def test_snappy(compressed: bytes, plain: bytes) -> None:
    assert decompress(compressed) == plain


@pytest.mark.parametrize(
    "damaged", [b"\x03\x08ab", b"\x04\x08abc", b"\x03\x01\x02", b"\x08\x0cabcd\x0e\x09\x00", b"\xff"]
)
def test_damaged_snappy_is_refused(damaged: bytes) -> None:
    with pytest.raises(DataLossError):
        decompress(damaged)


# ---- tables ----------------------------------------------------------------------------------------------------------


@given(st.dictionaries(st.binary(max_size=8), st.binary(max_size=20)))
def test_tables_come_back(rows: dict[bytes, bytes]) -> None:
    ordered = sorted(rows.items())
    assert list(table.items(table.written(ordered), "it")) == ordered


def test_a_table_of_several_blocks_comes_back() -> None:
    rows = [(f"name{i:07}".encode(), bytes(1000)) for i in range(1000)]
    data = table.written(rows)
    assert list(table.items(data, "it")) == rows


def test_keys_must_ascend() -> None:
    with pytest.raises(ValueError, match="must ascend"):
        table.written([(b"b", b""), (b"a", b"")])


def test_a_table_compressed_with_snappy_is_read() -> None:
    plain = table._Block(16)
    plain.add(b"key", b"value")
    contents = plain.finished()
    literal = varint(len(contents)) + bytes(((len(contents) - 1) << 2,)) + contents + b"\x01"
    block = literal + struct.pack("<I", masked_crc32c(literal))
    index = table._Block(1)
    index.add(b"l", varint(0) + varint(len(literal) - 1))
    tail = index.finished() + b"\x00"
    places = varint(0) + varint(len(literal) - 1) + varint(len(block)) + varint(len(tail) - 1)
    data = (
        block
        + tail
        + struct.pack("<I", masked_crc32c(tail))
        + places.ljust(40, b"\0")
        + struct.pack("<Q", table._MAGIC)
    )
    assert list(table.items(data, "it")) == [(b"key", b"value")]


def test_no_flipped_bit_of_a_table_goes_unnoticed() -> None:
    rows = [(f"k{i}".encode(), os.urandom(5)) for i in range(6)]
    data = table.written(rows)
    padding = range(len(data) - 44, len(data) - 8)  # of the footer, which no checksum covers
    for at in range(len(data)):
        broken = bytearray(data)
        broken[at] ^= 1 << at % 8
        try:
            read = list(table.items(bytes(broken), "file"))
        except DataLossError as error:
            assert "file" in str(error) or "number" in str(error)  # noqa: PT017 - most raise, some need not
        else:
            assert at in padding or at >= len(data) - 48
            assert read in (rows, [])


@pytest.mark.parametrize("left", [0, 10, 47, 48, 60])
def test_a_cut_table_is_refused(left: int) -> None:
    data = table.written([(b"a", b"1")])
    with pytest.raises(DataLossError, match="here"):
        list(table.items(data[:left], "here"))


# ---- records ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", [None, "", "GZIP", "ZLIB"])
def test_records_come_back(tmp_path, compression) -> None:
    rows = [b"", b"one", os.urandom(3000), os.urandom((1 << 16) - 3072), b"", b"x" * (3 << 16), b"last"]
    with records.RecordWriter(tmp_path / "f", compression) as writer:
        for row in rows:
            writer.write(row)
    assert list(records.read_records(tmp_path / "f", compression)) == rows


def test_no_flipped_bit_of_a_record_goes_unnoticed(tmp_path) -> None:
    data = records.record(b"first") + records.record(b"second")
    for at in range(len(data)):
        broken = bytearray(data)
        broken[at] ^= 1 << at % 8
        (tmp_path / "f").write_bytes(broken)
        with pytest.raises(DataLossError, match="record at byte"):
            list(records.read_records(tmp_path / "f"))


def test_a_cut_record_is_refused_unless_the_file_is_being_written(tmp_path) -> None:
    data = records.record(b"first") + records.record(b"second")
    for left in range(len(records.record(b"first")) + 1, len(data)):
        (tmp_path / "f").write_bytes(data[:left])
        with pytest.raises(DataLossError, match="truncated record at byte 21"):
            list(records.read_records(tmp_path / "f"))
        assert list(records.read_records(tmp_path / "f", partial=True)) == [b"first"]


def test_what_is_not_there_or_not_known_is_refused(tmp_path) -> None:
    with pytest.raises(NotFoundError, match="nothing"):
        list(records.read_records(tmp_path / "nothing"))
    with pytest.raises(InvalidArgumentError, match="LZMA"):
        records.RecordWriter(tmp_path / "f", "LZMA")
    with records.RecordWriter(tmp_path / "f", "GZIP") as writer:
        writer.write(b"x" * 100)
    cut = (tmp_path / "f").read_bytes()[:-12]
    (tmp_path / "f").write_bytes(cut)
    with pytest.raises(DataLossError, match=r"damaged|truncated"):
        list(records.read_records(tmp_path / "f", "GZIP"))


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_tensorflow_reads_and_writes_the_same_records(tmp_path, compression) -> None:
    tf = pytest.importorskip("tensorflow")
    rows = [b"", b"one", os.urandom(5000)]
    with records.RecordWriter(str(tmp_path / "ours"), compression) as writer:
        for row in rows:
            writer.write(row)
    theirs = tf.compat.v1.io.tf_record_iterator
    options = tf.io.TFRecordOptions(compression)
    assert list(theirs(str(tmp_path / "ours"), options)) == rows
    with tf.io.TFRecordWriter(str(tmp_path / "theirs"), options) as writer:
        for row in rows:
            writer.write(row)
    assert list(records.read_records(tmp_path / "theirs", compression)) == rows
