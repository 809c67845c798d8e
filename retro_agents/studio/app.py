"""What the studio answers: the page, and JSON about the runs below its folder.

A request names a run by a name that the index found; no part of it becomes a path.
"""

import json
import mimetypes
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, final

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles

from retro_agents.contest.stored import shipped
from retro_agents.ground.errors import UserError
from retro_agents.studio import curves, judged
from retro_agents.studio.agents import Agents, playable
from retro_agents.studio.commands import commands, first
from retro_agents.studio.episodes import listed, newest_files, recording
from retro_agents.studio.files import checkpoints_of, is_whole, reason_of
from retro_agents.studio.gate import Gate
from retro_agents.studio.index import Index
from retro_agents.studio.row import history
from retro_agents.studio.starting import Match, Started, Wanted, choices
from retro_agents.studio.stream import Streams
from retro_agents.studio.threads import limited
from retro_agents.studio.writers import locks, stop, writer_of

PAGE = Path(__file__).parent / "page"
"""The built page, made by `scripts/web`."""
MOST_RUNS = 200
MOST_BODY = 1 << 16
"""Bytes of the longest request."""
TYPES = {".wasm": "application/wasm", ".js": "text/javascript", ".onnx": "application/octet-stream"}
ALONE = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; media-src data:"
)
"""What a report may do."""
Asked: Any = Wanted | Match
T = TypeVar("T")


def answer(content: Any, status: int = 200) -> Response:
    """JSON, in which numbers that are not finite are null."""
    try:
        text = msgspec.json.encode(content)
    except UnicodeEncodeError:  # a name that is not UTF-8, which needs escapes
        plain = json.dumps(msgspec.to_builtins(content))
        text = json.dumps(json.loads(plain, parse_constant=lambda _: None)).encode()
    return Response(text, status, {"Cache-Control": "no-store"}, "application/json")


def refused(_: Request, error: Exception) -> Response:
    """A user's mistake, or a file that is gone meanwhile, as a line for the page."""
    return answer({"error": reason_of(error)}, 400)


def failed(_: Request, error: Exception) -> Response:
    """A fault of the studio, of which its terminal says more."""
    return answer({"error": f"the studio failed ({type(error).__name__})"}, 500)


async def body_of(request: Request, kind: type[T]) -> T:
    """The request's body. Raises UserError if it is too long or not of this kind."""
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > MOST_BODY:
            raise UserError("the request is too long")
    try:
        return msgspec.json.decode(data, type=kind)
    except (ValueError, RecursionError) as error:  # msgspec's are the first
        raise UserError(f"this is not what the page sends: {error}") from None


class Named(msgspec.Struct, forbid_unknown_fields=True):
    """A request about one run."""

    run: str


@final
class Studio:
    """The answers about one folder of runs."""

    def __init__(self, root: Path, exports: Path) -> None:
        self.root = root
        self.index = Index(root)
        self.tables = curves.Tables()
        self.agents = Agents(self.index, exports)
        self.started = Started(root, self.agents)
        self._contest = limited(
            lambda name: judged.checked_contest(self.index.folder(name, "contest"))
        )
        self._stopping, self._asking = dict[str, Any](), threading.Lock()
        self._begun = time.time_ns()  # a page may be older than this studio

    def runs(self, request: Request) -> Response:
        """The rows of all runs; nothing if the page has this revision."""
        revision, rows = self.index.revision, self.index.ask()
        failures = self.started.failures()
        version = f"{self._begun} {revision} {len(rows)} {','.join(failures)}"
        slow = any(row.error.startswith("its disk") for row in rows)
        if request.query_params.get("since") == version and not slow:
            return Response(status_code=204)
        found = {"version": version, "root": str(self.root), "rows": rows, "failures": failures}
        return answer({**found, "first": first(self.root)})

    def named(self, request: Request) -> dict[str, Path]:
        """The runs that a request names. Raises UserError if there are none of these names."""
        names = [*dict.fromkeys(request.query_params.getlist("run"))][:MOST_RUNS]
        if not names:
            raise UserError("choose a run")
        return {name: self.index.folder(name) for name in names}

    def columns(self, request: Request) -> Response:
        """The columns of numbers that any of these runs has."""
        names, runs = dict[str, None](), self.named(request)
        for run in runs.values():
            with suppress(UserError):  # its curve says so
                names |= dict.fromkeys(self.tables.columns(run))
        return answer([*names])

    def curves(self, request: Request) -> Response:
        """Curves, see `curves.drawn`."""
        given = request.query_params
        window, runs = given.get("window", "1"), self.named(request)
        found = curves.drawn(
            self.tables,
            runs,
            given.get("column", ""),
            x="seconds" if given.get("x") == "seconds" else "steps",
            window=int(window) if re.fullmatch(r"[1-9]\d{0,4}", window) else 1,
            seeds=given.get("seeds") == "1",
        )
        return answer(found)

    def run(self, request: Request) -> Response:
        """A run's heat map, checkpoints and commands."""
        name, run = next(iter(self.named(request).items()))
        heat: dict[str, Any] = {"levels": [], "edges": [], "returns": []}
        error = level = ""
        try:
            level = self.tables.level(run)
            heat = self.tables.heat(run)
        except UserError as damaged:
            error = str(damaged)
        first: dict[str, Any] = next(iter(history(run)), {})
        agent, begun = (str(first.get(name, "")) for name in ("agent", "command"))
        saved = [folder.name for folder in checkpoints_of(run) if is_whole(folder)]
        about = {"name": name, "heat": heat, "error": error, "level": level, "checkpoints": saved}
        return answer({**about, "commands": commands(run, agent, begun, saved=bool(saved))})

    def configs(self, request: Request) -> Response:
        """How the configs of runs differ."""
        return answer(curves.differences(self.named(request)))

    def episodes(self, request: Request) -> Response:
        """A run's episodes that fit, and its recordings and films."""
        run = next(iter(self.named(request).values()))
        found = listed(self.tables, run, request.query_params)
        return answer({**found, "files": newest_files(run)})

    def file(self, request: Request) -> Response:
        """A recording or a film of a run."""
        run = next(iter(self.named(request).values()))
        return FileResponse(recording(run, request.query_params.get("file", "")))

    def compare(self, asked: judged.Comparison) -> Response:
        """A comparison, see `judged.compare`."""
        try:
            return answer(judged.compare(self.index, asked))
        except UserError as error:
            return answer({"flaw": str(error)})

    async def report(self, request: Request) -> Response:
        """The report on contests, as a page that may load nothing."""
        names = request.query_params.getlist("contest")[:MOST_RUNS]
        folders = [await self._contest(name) for name in names]
        target = self.agents.exports / "report.html"
        words = [*map(str, folders), "--out", str(target)]
        await self.agents.made("retro_agents.contest.report", *words)
        headers = {"Content-Security-Policy": ALONE}
        return Response(target.read_bytes(), 200, headers, "text/html")

    def plot(self, request: Request) -> Response:
        return FileResponse(judged.plot_of(self.index, request.query_params.get("sweep", "")))

    async def player(self, request: Request) -> Response:
        """What an agent plays by, see `Agents.player`."""
        path = await self.agents.player(request.query_params.get("agent", ""))
        return FileResponse(path, headers={"Cache-Control": "no-store"})

    def stop(self, asked: Named) -> Response:
        """Stop this start of a run, which saves. Who asks again changes nothing: a second signal
        would end it at once."""
        name, folder = asked.run, self.index.folder(asked.run)
        start = history(folder)[-1:], writer_of(folder, locks())
        with self._asking:
            if self._stopping.get(name) == start:
                return answer({"stopping": name})
            self._stopping[name] = start
        try:
            stop(folder)
        except Exception:
            self._stopping.pop(name, None)
            raise
        return answer({"stopping": name})

    def command(self, wanted: Wanted | Match) -> Response:
        """The command that the form stands for, or what is wrong with it so far."""
        try:
            return answer({"command": self.started.command(wanted)})
        except UserError as error:
            return answer({"command": "", "flaw": str(error)})

    def start(self, wanted: Wanted | Match) -> Response:
        self.started.start(wanted)
        return answer({"started": wanted.name})


def posted(kind: Any, work: Callable[[Any], Response]) -> Callable[[Request], Any]:
    """Answers a request with a body of this kind."""
    done = limited(work)

    async def answered(request: Request) -> Response:
        return await done(await body_of(request, kind))

    return answered


def page(_: Request) -> Response:
    return FileResponse(PAGE / "studio.html", headers={"Cache-Control": "no-cache"})


def app_of(root: Path, *, exports: Path, token: str) -> Gate:
    """The whole application, behind its gate. exports: a folder for exported nets."""
    studio = Studio(root, exports)
    for suffix, kind in TYPES.items():
        mimetypes.add_type(kind, suffix)
    reads: dict[str, Callable[..., Any]] = {
        "/": page,
        "/api/runs": studio.runs,
        "/api/shipped": lambda _: answer(shipped()),
        "/api/report": studio.report,
        "/api/player": studio.player,
        "/api/levels": lambda _: answer(playable()),
        "/api/choices": lambda _: answer(choices()),
    }
    looks: dict[str, Callable[[Request], Response]] = {
        "/api/columns": studio.columns,
        "/api/curves": studio.curves,
        "/api/run": studio.run,
        "/api/configs": studio.configs,
        "/api/episodes": studio.episodes,
        "/api/file": studio.file,
        "/api/contests": lambda _: answer(judged.contests(studio.index)),
        "/api/sweeps": lambda _: answer(judged.sweeps(studio.index)),
        "/api/plot": studio.plot,
        "/api/agents": lambda _: answer(studio.agents.known()),
    }
    writes: dict[str, Callable[..., Any]] = {
        "/api/stop": posted(Named, studio.stop),
        "/api/command": posted(Asked, studio.command),
        "/api/start": posted(Asked, studio.start),
        "/api/compare": posted(judged.Comparison, studio.compare),
    }
    routes = [
        *(Route(path, read, methods=["GET"]) for path, read in reads.items()),
        *(Route(path, limited(read), methods=["GET"]) for path, read in looks.items()),
        *(Route(path, write, methods=["POST"]) for path, write in writes.items()),
        WebSocketRoute("/api/stream", Streams(studio.agents).watch),
        Mount("/assets", StaticFiles(directory=PAGE / "assets", check_dir=False)),
    ]
    handlers: dict[Any, Any] = {UserError: refused, OSError: refused, Exception: failed}
    return Gate(Starlette(routes=routes, exception_handlers=handlers), token=token)
