"""Nobody but the studio's own page gets an answer."""

import pytest

from tests.studio.conftest import TOKEN
from tests.studio.runs import make_run

SECRET = "outside"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Cookie": None}, 403),
        ({"Cookie": "studio-{port}=wrong"}, 403),
        ({"Cookie": "studio-{port}=é;;="}, 403),
        ({"Cookie": "other={{a: 1}}; studio-{port}=correct-token"}, 200),
        ({"Host": "example.org"}, 403),
        ({"Host": "127.0.0.1.example.org:{port}"}, 403),
        ({"Origin": "http://example.org"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Host": "localhost:9000", "Cookie": "studio-{port}=correct-token"}, 403),
        (
            {
                "Host": "localhost:9000",
                "Origin": "http://localhost:9000",
                "Cookie": "studio-9000=correct-token; studio-{port}=of-another-machine",
            },
            200,
        ),
    ],
)
def test_only_the_studios_own_page_is_answered(studio, tmp_path, headers, status):
    client = studio(tmp_path)
    given = {k: v and v.format(port=client.port) for k, v in headers.items()}
    assert client.ask("/api/runs", **given)[0] == status


def test_the_printed_address_gives_a_cookie(studio, tmp_path):
    client = studio(tmp_path)
    assert client.ask("/", query={"token": "wrong"}, Cookie=None)[0] == 403
    assert client.ask("/", query={"token": TOKEN}, Cookie=None)[0] == 303
    cookie = f"studio-{client.port}={TOKEN}; HttpOnly; Path=/; SameSite=lax"
    assert client.answered["Set-Cookie"] == cookie
    assert client.ask("/") == (200, b"the page")
    assert client.answered["Content-Security-Policy"].startswith("default-src 'self'; ")


def test_what_changes_something_needs_the_pages_origin(studio, tmp_path):
    assert studio(tmp_path).ask("/api/stop", {"run": "x"}, Origin=None)[0] == 403


READS = ("columns", "curves", "run", "configs", "episodes", "file")
BAD = ["../secret", "..", "/etc/passwd", "one/../../secret", "secret\0", "linked", "%2e%2e/secret"]


@pytest.mark.parametrize("bad", BAD)
def test_no_parameter_leads_out_of_the_folder(studio, tmp_path, bad):
    make_run(tmp_path / "secret", levels=SECRET)
    root = make_run(tmp_path / "runs" / "one").parent
    (root / "linked").symlink_to(tmp_path / "secret")
    client = studio(root)
    asked = [
        *((f"/api/{what}", {"run": bad}) for what in READS),
        ("/api/curves", {"run": "one", "column": f"metrics/{bad}"}),
        ("/api/curves", {"run": "one", "column": bad}),
        ("/api/file", {"run": "one", "file": bad}),
        ("/api/report", {"contest": bad}),
        ("/api/plot", {"sweep": bad}),
        ("/api/player", {"agent": bad}),
        ("/api/player", {"agent": f"one@{bad}"}),
        ("/assets/" + bad.replace("\0", ""), {}),
    ]
    for path, query in asked:
        status, content = client.ask(path, query=query)
        assert SECRET not in str(content) and status < 500, (path, query)
        assert status >= 400 or content[0]["error"].startswith("has no"), (path, query)
    wanted = {"type": "run", "agent": "ppo2", "name": "new", "levels": "bramble-train"}
    for field in ("agent", "name", "preset", "levels"):
        assert client.ask("/api/command", {**wanted, field: bad})[1]["flaw"], field
    assert client.ask("/api/stop", {"run": bad})[0] == 400


def test_bodies_that_are_not_the_pages_are_refused(studio, tmp_path):
    client = studio(tmp_path)
    for body in (b"", b"{", b"[" * 50_000, b'{"run": 1}', b'{"run":"a","b":1}', b'{"run":"\xff"}'):
        status, found = client.ask("/api/stop", body)
        assert status == 400 and found["error"].startswith("this is not what the page sends")
    status, found = client.ask("/api/stop", {"run": "x" * 100_000})
    assert (status, found["error"]) == (400, "the request is too long")
