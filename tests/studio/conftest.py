"""A studio on a folder of runs, and a page that talks to it."""

import http.client
import json
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlencode

import pytest

from retro_agents.studio.__main__ import HERE, listening

uvicorn = pytest.importorskip("uvicorn")
TOKEN = "correct-token"


class Client:
    """Asks a studio, as its page does unless told otherwise.

    answered: the headers of the last answer."""

    def __init__(self, port):
        self.port, self.host = port, f"{HERE}:{port}"

    def headers(self, **others):
        own = {"Host": self.host, "Cookie": f"studio-{self.port}={TOKEN}"}
        return {k: v for k, v in {**own, **others}.items() if v is not None}

    def ask(self, path, body=None, query=(), **headers):
        """The status and the content of an answer; a body is posted."""
        connection = http.client.HTTPConnection(HERE, self.port, timeout=60)
        if body is not None:
            headers = {"Origin": f"http://{self.host}", **headers}
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        given = self.headers(**headers)
        connection.putrequest(
            "GET" if body is None else "POST",
            f"{path}?{urlencode(query, doseq=True)}",
            skip_host=True,
        )
        for name, value in {**given, "Content-Length": str(len(data or b""))}.items():
            connection.putheader(name, value)
        connection.endheaders(data)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        self.answered = answer.headers
        json_ = answer.headers.get("Content-Type") == "application/json"
        return answer.status, json.loads(content) if json_ else content

    def rows(self, until=bool):
        """The runs' rows by name, as soon as they are as expected."""
        deadline = time.monotonic() + 30
        while True:
            rows = {row["id"]: row for row in self.ask("/api/runs")[1]["rows"]}
            if until(rows) or time.monotonic() > deadline:
                return rows
            time.sleep(0.05)


def processes():
    """The processes that this one's threads have started."""
    found = Path("/proc/self/task").glob("*/children")
    return {int(pid) for path in found for pid in path.read_text().split()}


@pytest.fixture
def studio(tmp_path, monkeypatch):
    """Serves a folder."""
    from retro_agents.studio import app, index
    from retro_agents.studio.__main__ import server_of

    page = tmp_path / "page"
    (page / "assets").mkdir(parents=True)
    (page / "studio.html").write_text("the page")
    monkeypatch.setattr(app, "PAGE", page)
    monkeypatch.setattr(index, "EVERY", 0.05)
    monkeypatch.setattr(index, "LONGEST", 0.05)

    def serve(root):
        listener = listening(0)
        port = listener.getsockname()[1]
        server = server_of(app.app_of(root, exports=tmp_path, token=TOKEN))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        ends.callback(thread.join)  # after what comes next
        ends.callback(setattr, server, "should_exit", True)
        return Client(port)

    with ExitStack() as ends:
        yield serve
