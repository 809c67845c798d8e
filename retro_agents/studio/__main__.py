# PYTHON_ARGCOMPLETE_OK
"""Opens a local web page that shows, compares and steers runs.

retro-agents studio runs
"""

import dataclasses
import os
import secrets
import shlex
import socket
import sys
import webbrowser
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from retro_agents.ground.errors import UserError, command, need
from retro_agents.ground.requirements import IN_CHECKOUT
from retro_agents.ground.temporary import temporary_folder
from retro_agents.run.command_line import parse_command
from retro_agents.run.fields import field

HERE = "127.0.0.1"


@dataclasses.dataclass(frozen=True)
class StudioConfig:
    """Watch, compare and steer runs on a local web page. Ctrl-C ends it; no run depends on it."""

    runs: Path = field(Path("runs"), metavar="RUNS")
    """The folder below which runs, contests and sweeps are looked for."""
    port: Annotated[int, Meta(ge=0, le=65535, description="a whole number from 0 to 65535")] = 8056
    """Port of the page; 0: any free one."""
    browser: bool = True
    """Open the page in a browser, if there is one."""


def listening(port: int) -> socket.socket:
    """A socket on this machine's own address. Raises UserError if the port is taken."""
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HERE, port))
    except OSError as error:
        found.close()
        advice = "give another --port, or 0 for a free one"
        raise UserError(f"port {port} cannot be used: {error.strerror}; {advice}") from None
    found.listen()  # a browser may come before the server is ready
    return found


def said(address: str, port: int) -> str:
    """What is printed: the address, and over ssh how to reach it."""
    lines = [f"The studio is at {address}", "Ctrl-C ends it; runs continue without it."]
    if os.environ.get("SSH_CONNECTION"):
        host = os.environ["SSH_CONNECTION"].split()[2:3]
        target = shlex.quote(f"{os.environ.get('USER', 'USER')}@{(host or ['HOST'])[0]}")
        lines.insert(1, f"On your own machine: ssh -N -L {port}:{HERE}:{port} {target}")
    return "\n".join(lines)


def has_browser() -> bool:
    """Whether a browser can show the page here: not over ssh, nor without a display."""
    if os.environ.get("SSH_CONNECTION"):
        return False
    display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return sys.platform == "darwin" or bool(display)


def server_of(app: Any) -> Any:
    """The server of an application. A closed page is noticed within seconds."""
    import uvicorn

    return uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            loop="asyncio",
            http="h11",
            ws="websockets-sansio",
            ws_max_size=1 << 12,
            ws_ping_interval=2,
            ws_ping_timeout=2,
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=1,
        )
    )


def check_folder(runs: Path) -> None:
    """Raises UserError if it cannot be listed. The default one may be missing: it is empty then."""
    try:
        os.scandir(runs).close()
    except OSError as error:
        if isinstance(error, FileNotFoundError) and runs == StudioConfig.runs:
            return
        reason = f"{runs} cannot be listed: {error.strerror}"
        raise UserError(f"{reason}; give the folder of your runs") from None


@command
def main() -> None:
    """Serve the page until Ctrl-C."""
    config = parse_command(StudioConfig, command="retro-agents studio")
    need("starlette", "uvicorn", "websockets", "scipy")
    check_folder(config.runs)
    root = config.runs.resolve()
    from retro_agents.studio.app import PAGE, app_of

    if not (PAGE / "studio.html").is_file():
        then = "" if IN_CHECKOUT else " in a checkout, then install that again"
        raise UserError(f"the page is not built: run scripts/web (Node 20 and npm){then}")
    try:
        with listening(config.port) as listener, temporary_folder() as (exports, _):
            port, token = listener.getsockname()[1], secrets.token_urlsafe(24)
            address = f"http://{HERE}:{port}/?token={token}"
            print(said(address, port), flush=True)
            if config.browser and has_browser():
                webbrowser.open(address)
            server_of(app_of(root, exports=exports, token=token)).run([listener])
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr, flush=True)
        os._exit(130)  # without waiting for threads, of which one may wait for a disk


if __name__ == "__main__":
    main()
