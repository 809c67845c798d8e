"""Importing a user's ROMs, in a data folder of the tests' own; ROMs here are made up."""

import errno
import hashlib
import io
import os
import shutil
import zipfile
import zlib
from pathlib import Path

import pytest
from stable_retro import data
from vcdiff_decoder import InvalidChecksumError, decode

from retro_agents.games.retro import import_roms as __main__
from retro_agents.games.retro import rom_library as library_module
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.integrations import OWN_GAMES
from retro_agents.games.retro.levels import parse_level
from retro_agents.games.retro.make import make_env
from retro_agents.games.retro.rom_library import Library, build_games, import_files, still_wanted
from retro_agents.ground.errors import UserError
from tests.games.retro.test_rom_files import with_heading

BASE = bytes(range(256)) * 200
CUSTOM = BASE[:1000] + b"a level of my own" + BASE[1000:]
SECOND = BASE[::-1]
KEVIN = "HogCustomKevin-Genesis"


def integer(value):
    """A VCDIFF integer of three bytes."""
    return bytes([0x80 | value >> 14, 0x80 | value >> 7 & 127, value & 127])


def custom_delta():
    """COPY 1000 from 0, ADD, COPY the rest: the delta from BASE to CUSTOM, as xdelta3 writes it."""
    added, rest = CUSTOM[1000:1017], len(BASE) - 1000
    codes = b"\x13" + integer(1000) + bytes([1 + 17]) + b"\x13" + integer(rest)
    addresses = integer(0) + integer(1000)
    sections = added + codes + addresses
    sizes = b"".join(integer(len(part)) for part in (added, codes, addresses))
    checksum = zlib.adler32(CUSTOM).to_bytes(4, "big")
    body = integer(len(CUSTOM)) + b"\x00" + sizes + checksum + sections
    window = b"\x05" + integer(len(BASE)) + integer(0) + integer(len(body)) + body
    return bytes.fromhex("d6c3c4 00 00") + window


def sha1(rom):
    return hashlib.sha1(rom).hexdigest()


@pytest.fixture
def library(tmp_path, monkeypatch, own_games):
    """A data folder that wants two versions of a game, its custom levels, and another console's."""
    folder = tmp_path / "data"
    wanted = {
        "stable/Hog-Genesis-v0": [BASE, BASE + b"revision 2"],
        "stable/Two-Genesis-v0": [SECOND],
        "contrib/HogCustomKevin-Genesis": [CUSTOM],
        "experimental/Plumber-Nes-v0": [b"NES body"],
        "stable/Set-FBNeo-v0": [b"PK\x03\x04 an arcade set"],
    }
    for game, known in wanted.items():
        (folder / game).mkdir(parents=True)
        (folder / game / "rom.sha").write_text("".join(f"{sha1(rom)}\n" for rom in known))
    (folder / "contrib/HogCustomKevin-Genesis/rom.delta").write_bytes(custom_delta())
    (folder / "stable/Set-FBNeo-v0/metadata.json").write_text('{"original_rom_name": "set.zip"}')
    monkeypatch.setattr(data, "path", lambda hint=None: str(folder))
    return folder


@pytest.fixture
def mine(tmp_path):
    """The user's folder."""
    (tmp_path / "mine").mkdir()
    return tmp_path / "mine"


def lines(*paths):
    """File or game name -> (what, text)."""
    library = Library()
    report = [*import_files(library, paths), *build_games(library)]
    return {Path(line.name).name: (line.what, line.text) for line in report}


def test_imports_by_content_whatever_the_name_and_a_second_time_nothing(library, mine):
    installed = library / "stable/Hog-Genesis-v0/rom.md"
    built = library / "contrib/HogCustomKevin-Genesis/rom.md"
    installed.write_bytes(BASE[:100])  # a damaged one is replaced
    (mine / "below").mkdir()
    (mine / "below" / "whatever.txt").write_bytes(BASE)
    report = lines(mine)
    assert report["whatever.txt"] == ("imported", "Hog-Genesis-v0")
    assert report[KEVIN] == ("built", "from Hog-Genesis-v0")
    assert (installed.read_bytes(), built.read_bytes()) == (BASE, CUSTOM)
    assert sorted(path.name for path in installed.parent.iterdir()) == ["rom.md", "rom.sha"]
    before = installed.stat()
    report = lines(mine)
    after = installed.stat()
    assert report["whatever.txt"] == ("there", "Hog-Genesis-v0")
    assert report[KEVIN][0] == "there"
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


@pytest.mark.parametrize("name", ["AHog-Genesis", "ZHog-Genesis", "Hog-Genesis-v0"])
def test_every_game_that_wants_a_rom_gets_it(library, mine, own_games, name):
    shipped, own = library / "stable" / "Hog-Genesis-v0", mine.parent / "own" / name
    own.mkdir(parents=True)
    for folder in (shipped, own):
        (folder / "data.json").write_text("{}")
    shutil.copy(shipped / "rom.sha", own)
    own_games([str(own.parent)])
    (mine / "rom.bin").write_bytes(BASE)
    assert lines(mine)[KEVIN] == ("built", "from Hog-Genesis-v0")
    assert [(folder / "rom.md").read_bytes() for folder in (shipped, own)] == [BASE, BASE]


def test_finds_a_rom_in_a_zip_and_an_arcade_set_stays_one(library, mine):
    with zipfile.ZipFile(mine / "pack.zip", "w") as archive:
        archive.writestr("read.me", "hello")
        archive.writestr("folder/hog.md", BASE)
    report = lines(mine)
    assert report["hog.md"] == ("imported", "Hog-Genesis-v0")
    assert report["read.me"][0] == "no"
    assert "pack.zip" not in report
    (mine / "x.zip").write_bytes(b"PK\x03\x04 an arcade set")
    assert lines(mine)["x.zip"] == ("imported", "Set-FBNeo-v0")
    for name in ("rom.zip", "set.zip"):
        assert (library / "stable/Set-FBNeo-v0" / name).is_file()


def test_headers_are_dropped_or_kept_as_the_emulator_needs(library, mine):
    (mine / "hog.smd").write_bytes(bytes(512) + BASE)
    (mine / "plumber.nes").write_bytes(b"NES\x1a" + bytes(12) + b"NES body")
    report = lines(mine)
    assert report["hog.smd"] == ("imported", "Hog-Genesis-v0")
    assert report["plumber.nes"] == ("imported", "Plumber-Nes-v0")
    assert (library / "stable/Hog-Genesis-v0/rom.md").read_bytes() == BASE
    assert (library / "experimental/Plumber-Nes-v0/rom.nes").read_bytes()[:4] == b"NES\x1a"
    assert lines(mine)["plumber.nes"][0] == "there"


def test_builds_custom_levels_from_the_version_that_fits(library, mine):
    (mine / "1.bin").write_bytes(BASE + b"revision 2")
    text = lines(mine)[KEVIN]
    assert text[0] == "built"  # the copies lie before where the two differ
    (library / "contrib/HogCustomKevin-Genesis/rom.md").unlink()
    (library / "contrib/HogCustomKevin-Genesis/rom.sha").write_text(sha1(b"another") + "\n")
    why = "its delta makes another ROM than its rom.sha says"
    assert lines(mine)[KEVIN] == ("missing", why)


def test_a_version_met_but_not_installed_builds_too(library, mine):
    shorter = BASE[:-4]
    (library / "stable/Hog-Genesis-v0/rom.sha").write_text(f"{sha1(shorter)}\n{sha1(BASE)}\n")
    (mine / "1.bin").write_bytes(shorter)
    (mine / "2.bin").write_bytes(BASE)
    report = lines(mine)
    assert (report["1.bin"][0], report["2.bin"][0]) == ("imported", "there")
    assert report[KEVIN][0] == "built"


def test_says_what_custom_levels_lack(library, mine):
    assert lines(mine)[KEVIN] == ("missing", "needs the ROM of Hog-Genesis-v0")
    (mine / "rom.bin").write_bytes(BASE)
    (library / "contrib/HogCustomKevin-Genesis/rom.delta").write_bytes(custom_delta()[:-3])
    what, text = lines(mine)[KEVIN]
    assert (what, "or is damaged" in text, "\n" in text) == ("missing", True, False)
    assert not (library / "contrib/HogCustomKevin-Genesis/rom.md").exists()


def test_the_contests_deltas_are_read_and_refuse_another_rom():
    deltas = sorted(Path(data.path()).glob("contrib/*/rom.delta"))
    assert len(deltas) == 6
    for delta in deltas:
        with pytest.raises(InvalidChecksumError):  # all is read before the first is reckoned out
            decode(bytes(4 << 20), delta.read_bytes())


def test_joins_two_cartridges(library, mine, monkeypatch):
    both = library / "stable/Both-Genesis-v0"
    both.mkdir()
    (both / "rom.sha").write_text(sha1(BASE + SECOND) + "\n")
    monkeypatch.setattr(
        library_module, "JOINED", {"Both-Genesis-v0": ("Hog-Genesis-v0", "Two-Genesis-v0")}
    )
    (mine / "1.bin").write_bytes(BASE)
    assert "Both-Genesis-v0" not in lines(mine)
    (mine / "2.bin").write_bytes(SECOND)
    assert lines(mine)["Both-Genesis-v0"] == ("built", "from Hog-Genesis-v0 and Two-Genesis-v0")
    assert (both / "rom.md").read_bytes() == BASE + SECOND


def test_says_why_a_file_is_none(library, mine):
    files = {
        "region.md": with_heading(title=b"H O G", region=b"E"),
        "cut.md": with_heading(title=b"H O G", size=0x40000),
        "other.md": with_heading(title=b"SOME GAME"),
        "text": b"hello",
        "packed.7z": b"7z\xbc\xaf\x27\x1c",
    }
    for name, content in files.items():
        (mine / name).write_bytes(content)
    report = lines(mine)
    assert {what for name, (what, _) in report.items() if "Custom" not in name} == {"no"}
    region = report["region.md"][1]
    assert "“H O G” (GM 00001009-00, for Europe)" in region
    assert "another region or revision of Hog-Genesis-v0" in region
    assert sha1(BASE) in region
    assert "cut off: 65536 of 262144 bytes" in report["cut.md"][1]
    assert "“SOME GAME”" in report["other.md"][1]
    assert "7z archive" in report["packed.7z"][1]
    assert all(sha1(content) in report[name][1] for name, content in files.items())


def test_a_delta_that_makes_more_than_a_rom_is_not_applied(library, mine):
    (mine / "rom.bin").write_bytes(BASE)
    run = b"\x00" + b"\x8f\xff\xff\xff\x7f"  # RUN, of 4 GiB
    sizes = integer(1) + integer(len(run)) + integer(0)
    body = integer(1) + b"\x00" + sizes + b"x" + run
    delta = bytes.fromhex("d6c3c4 00 00") + b"\x00" + integer(len(body)) + body
    (library / "contrib/HogCustomKevin-Genesis/rom.delta").write_bytes(delta)
    what, text = lines(mine)[KEVIN]
    assert what == "missing" and "makes more than 32 MiB" in text


def test_what_the_contest_wants_is_listed_until_it_is_there(library, mine, monkeypatch):
    monkeypatch.setattr(library_module, "TITLES", {sha1(BASE): "Hog, World"})
    wanted = [str(line) for line in still_wanted(Library())]
    assert wanted == [f"wanted    Hog-Genesis-v0: Hog, World, SHA-1 {sha1(BASE)}"]
    (mine / "rom.bin").write_bytes(BASE)
    lines(mine)
    assert not [*still_wanted(Library())]


def test_a_name_in_an_archive_says_nothing_to_the_terminal(library, mine):
    with zipfile.ZipFile(mine / "a.zip", "w") as archive:
        archive.writestr("\x1b]0;title\x07\nimported  \u202egame", b"nothing")
    line = next(iter(import_files(Library(), [mine])))
    assert str(line).isprintable() and "\\x1b]0;title\\x07\\nimported  \\u202egame" in str(line)


def run_main(monkeypatch, *arguments):
    """Exit code of the command."""
    monkeypatch.setattr("sys.argv", ["import-roms", *arguments])
    try:
        __main__.main()
    except SystemExit as error:
        return int(error.code or 0)
    return 0


def test_exit_codes(library, mine, monkeypatch, capsys):
    assert run_main(monkeypatch, str(mine / "nowhere")) == 2
    assert capsys.readouterr().err.startswith("error: no file or folder")
    assert run_main(monkeypatch, str(mine)) == 1
    (mine / "rom.bin").write_bytes(BASE)
    assert run_main(monkeypatch, str(mine / "rom.bin")) == 0
    assert "1 imported, 0 there already, 1 built" in capsys.readouterr().out
    (mine / "text").write_bytes(b"hello")
    assert run_main(monkeypatch, str(mine / "text")) == 1  # custom levels built before do not count


def test_knows_stable_retros_own_list_and_own_games(tmp_path):
    wanted = Library().wanted
    assert library_module.TITLES.keys() <= wanted.keys()
    assert "BrambleDash-Genesis-v0" in {game for places in wanted.values() for game, *_ in places}
    airstriker = Path(data.get_romfile_path("Airstriker-Genesis-v0"))
    report = lines(airstriker)
    assert report["rom.md"] == ("there", "Airstriker-Genesis-v0")
    custom = {name: text for name, (_, text) in report.items() if "Custom" in name}
    assert len(custom) == 6
    assert set(custom.values()) <= {
        f"{words}{game}-Genesis-v0"
        for words in ("needs the ROM of ", "built from ", "from ")
        for game in ("SonicTheHedgehog", "SonicTheHedgehog2", "SonicAndKnuckles3")
    }


def test_an_imported_game_can_be_played_under_the_contests_rules(
    own_games, tmp_path, mine, monkeypatch
):
    # Sonic's integration from the wheel, with our own ROM in the place of Sonic's: its states load,
    # its Lua scenario runs. What is on the screen means nothing.
    game, real = "SonicTheHedgehog-Genesis-v0", Path(data.path())
    folder = tmp_path / "data"
    shutil.copytree(real / "stable" / game, folder / "stable" / game)
    for kind in ("contrib", "experimental"):
        (folder / kind).mkdir()
    rom = (OWN_GAMES / "BrambleDash-Genesis-v0" / "rom.md").read_bytes() + b"in Sonic's place"
    (folder / "stable" / game / "rom.sha").write_text(sha1(rom))
    (folder / "stable" / game / "rom.md").unlink(missing_ok=True)
    (mine / "sonic.bin").write_bytes(rom)
    monkeypatch.setattr(data, "path", lambda hint=None: str(folder))
    level = parse_level(f"{game}:SpringYardZone.Act3")
    with pytest.raises(UserError, match="retro-agents import-roms DIR"):
        make_env(level, EnvConfig())
    assert lines(mine)["sonic.bin"] == ("imported", game)
    env = make_env(level, EnvConfig())
    obs, _ = env.reset(seed=1)
    assert obs.shape == (4, 84, 84)
    env.step(1)
    env.close()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_full_disk_or_a_read_only_place_is_one_line(library, mine, monkeypatch, number):
    (mine / "rom.bin").write_bytes(BASE)

    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "replace", refuse)
    if number == errno.EROFS:
        monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(UserError, match=f"cannot write .*{os.strerror(number)}"):
        lines(mine)
    if number == errno.ENOSPC:
        assert [path.name for path in (library / "stable/Hog-Genesis-v0").iterdir()] == ["rom.sha"]


def test_what_cannot_even_be_looked_at_is_named(library, mine, monkeypatch):
    (mine / "rom.bin").write_bytes(BASE)
    (mine / "locked").touch()
    is_file, stat = Path.is_file, Path.stat

    def refuse(path):
        if path.name == "locked":
            raise PermissionError(errno.EACCES, "Permission denied")
        return path

    monkeypatch.setattr(Path, "is_file", lambda path: is_file(refuse(path)))
    monkeypatch.setattr(Path, "stat", lambda path, **options: stat(refuse(path), **options))
    for folder in (mine, mine / "locked"):
        assert lines(folder)["locked"] == ("no", "cannot be read: Permission denied")
    assert lines(mine)["rom.bin"][0] == "there"


def test_names_that_are_no_text_are_shown(library, mine, monkeypatch):
    (mine / os.fsdecode(b"old\xff.bin")).write_bytes(b"nothing")
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="strict")
    monkeypatch.setattr("sys.stdout", out)
    assert run_main(monkeypatch, str(mine)) == 1
    out.flush()
    assert b"old\\udcff.bin" in out.buffer.getvalue()
