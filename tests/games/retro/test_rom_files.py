"""Files that may be ROMs: archives, dump formats, headings."""

import io
import random
import zipfile

import pytest

from retro_agents.games.retro import rom_files as files
from retro_agents.games.retro.rom_files import (
    TOO_MUCH,
    Allowance,
    archive_kind,
    dumps,
    heading,
    read_contents,
)

ROM = bytes(range(256)) * 128  # 32 KiB: two blocks of a Super Magic Drive dump


def zip_of(**files):
    """A zip with these files; '__' in a name is a dot."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "."), content)
    return packed.getvalue()


def with_heading(size=65536, region=b"JUE", title=b"SONIC   TWO"):
    """A Mega Drive ROM of 64 KiB whose heading says `size`."""
    rom = bytearray(0x10000)
    rom[0x100:0x110] = b"SEGA MEGA DRIVE "
    rom[0x120:0x150] = b"JAPANESE NAME".ljust(0x30)
    rom[0x150:0x180] = title.ljust(0x30)
    rom[0x180:0x18E] = b"GM 00001009-00"
    rom[0x1A4:0x1A8] = (size - 1).to_bytes(4, "big")
    rom[0x1F0:0x1F4] = region.ljust(3) + b"E"  # what follows is no part of it
    return bytes(rom)


def all_in(path):
    return list(read_contents(path, Allowance()))


def test_a_plain_file_is_itself_and_an_unreadable_one_says_so(tmp_path):
    (tmp_path / "rom.md").write_bytes(ROM)
    (content,) = all_in(tmp_path / "rom.md")
    assert (content.where, content.data, content.problem) == (str(tmp_path / "rom.md"), ROM, "")
    (content,) = all_in(tmp_path / "gone")
    assert "cannot be read" in content.problem


def test_zips_in_zips_are_opened_and_named_by_their_path(tmp_path):
    path = tmp_path / "all.zip"
    path.write_bytes(zip_of(a__md=b"A", inner__zip=zip_of(b__md=b"B")))
    contents = {content.where.removeprefix(str(path)): content.data for content in all_in(path)}
    assert contents["/a.md"] == b"A"
    assert contents["/inner.zip/b.md"] == b"B"
    assert set(contents) == {"", "/a.md", "/inner.zip", "/inner.zip/b.md"}


def test_archives_end_at_a_depth(tmp_path):
    nested = ROM
    for _ in range(files.MAX_DEPTH + 1):
        nested = zip_of(x__zip=nested)
    (tmp_path / "deep.zip").write_bytes(nested)
    last = all_in(tmp_path / "deep.zip")[-1]
    assert "archives deep" in last.problem


def test_what_is_larger_than_any_rom_is_not_read_but_a_zip_may_be(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_BYTES", 1000)
    (tmp_path / "large").write_bytes(bytes(1001))
    (tmp_path / "bomb.zip").write_bytes(zip_of(bomb=bytes(100_000), small=b"S"))
    (tmp_path / "set.7z").write_bytes(b"7z\xbc\xaf" + bytes(2000))
    (tmp_path / "set.zip").write_bytes(zip_of(set__7z=b"7z\xbc\xaf" + bytes(2000)))
    for name in ("set.7z", "set.zip"):
        assert "is a 7z archive, which is not opened here" in all_in(tmp_path / name)[-1].problem
    (large,) = all_in(tmp_path / "large")
    assert (large.data, "larger" in large.problem) == (b"", True)
    _, bomb, small = all_in(tmp_path / "bomb.zip")
    assert (bomb.data, "larger" in bomb.problem) == (b"", True)
    assert small.data == b"S"
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for number in range(3):
            archive.writestr(f"{number}.md", ROM[:900])
    contents = all_in(tmp_path / "all.zip")
    assert [content.data for content in contents] == [ROM[:900]] * 3


def test_a_damaged_zip_says_so_and_hides_no_other_file(tmp_path):
    whole = zip_of(a__md=ROM)
    flipped = whole[:60] + bytes([whole[60] ^ 255]) + whole[61:]
    for length in (4, 20, len(whole) // 2, len(whole) - 5):
        for damaged in (whole[:length], flipped):
            (tmp_path / "x.zip").write_bytes(damaged)
            assert "damaged or unusual zip" in all_in(tmp_path / "x.zip")[-1].problem
    flipped = bytearray(zip_of(a__md=ROM, b__md=ROM))
    flipped[60] ^= 255
    (tmp_path / "x.zip").write_bytes(flipped)
    *_, damaged, good = all_in(tmp_path / "x.zip")
    assert damaged.where.endswith("a.md") and "damaged or unusual" in damaged.problem
    assert (good.data, good.problem) == (ROM, "")


def test_a_zip_with_a_password_or_packed_in_another_way_says_so(tmp_path):
    locked = bytearray(zip_of(a__md=ROM))
    locked[6] |= 1  # the flag in the file's own header, and in the directory
    locked[locked.rindex(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "x.zip").write_bytes(locked)
    assert "password" in all_in(tmp_path / "x.zip")[-1].problem
    deflate64 = bytearray(zip_of(a__md=ROM))
    deflate64[8] = deflate64[deflate64.rindex(b"PK\x01\x02") + 10] = 9
    (tmp_path / "x.zip").write_bytes(deflate64)
    assert "damaged or unusual zip" in all_in(tmp_path / "x.zip")[-1].problem


def interleaved(rom):
    blocks = [rom[at : at + 0x4000] for at in range(0, len(rom), 0x4000)]
    return b"".join(block[1::2] + block[::2] for block in blocks)


def test_a_copiers_dump_is_undone_without_a_heading_and_another_file_left_alone():
    assert (ROM, ROM) in list(dumps(bytes(512) + interleaved(ROM)))
    assert list(dumps(ROM[:9999])) == [(ROM[:9999], ROM[:9999])]


@pytest.mark.parametrize(
    "dump",
    [
        lambda rom: rom + b"\xff" * len(rom),  # on a larger chip
        lambda rom: rom + bytes(3 * len(rom)),
        lambda rom: rom * 4,
        lambda rom: rom + b"some text",
        interleaved,  # a Super Magic Drive's, without the copier's header
        lambda rom: interleaved(rom * 2),
        lambda rom: rom[1::2] + rom[::2],  # a Multi Game Doctor's
        lambda rom: rom[::2] + rom[1::2],
        lambda rom: bytes(512) + rom[1::2] + rom[::2],
        lambda rom: bytes(byte for pair in zip(rom[1::2], rom[::2], strict=True) for byte in pair),
    ],
)
def test_a_padded_or_reordered_mega_drive_dump_is_undone(dump):
    rom = with_heading()
    assert (rom, rom) in list(dumps(dump(rom)))
    assert str(heading(dump(rom))) == str(heading(rom))


@pytest.mark.parametrize("fill", [b"\xff", b"\0"])
def test_a_padded_dump_of_another_console_is_cut(fill):
    rom = random.Random(0).randbytes(0x8000)
    for dump in (rom + fill * 0x18000, rom * 2):
        assert (rom, rom) in list(dumps(dump))


@pytest.mark.parametrize("most", [{"files": 2}, {"size": 2000}, {"until": 0.0}])
def test_archives_that_hold_too_much_are_not_opened_further(most, tmp_path):
    packed = zip_of(**{f"{number}__md": bytes(900) for number in range(3)})
    (tmp_path / "one.zip").write_bytes(packed)
    (tmp_path / "two.zip").write_bytes(zip_of(a__zip=packed))
    allowance = Allowance(**most)
    for name in ("one.zip", "two.zip"):
        assert list(read_contents(tmp_path / name, allowance))[-1].problem == TOO_MUCH


def test_reads_the_heading():
    for rom in (with_heading(), bytes(512) + with_heading()):  # as it is, and from a copier
        found = heading(rom)
        assert str(found) == "“SONIC TWO” (GM 00001009-00, for Japan, USA, Europe)"
        assert found.size == 0x10000
    assert heading(with_heading(title=b"")).title == "JAPANESE NAME"
    regions = {b"J": "Japan", b"E": "Europe", b"UE": "USA, Europe", b"4": "USA", b"8": "Europe"}
    regions |= {b"F": "Japan, USA, Europe", b"\0\0\0": ""}
    found = {code: heading(with_heading(region=code)).regions for code in regions}
    assert found == regions


def test_other_files_have_no_heading_and_unopened_archives_a_name():
    assert [heading(data) for data in (b"", ROM, with_heading()[:0x180])] == [None] * 3
    begins = {b"7z\xbc\xaf\x27\x1c": "7z", b"Rar!\x1a\x07": "RAR", b"\x28\xb5\x2f\xfd": "zstd"}
    begins |= {bytes(257) + b"ustar\x0000": "tar", b"\x21\x0d-lh5-\x00": "LHA", ROM: None}
    assert {data: archive_kind(data) for data in begins} == begins
