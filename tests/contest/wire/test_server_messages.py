"""The server against messages that the protocol does not allow."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.contest.raw import RESET, press, raw

Start = Callable[..., Any]

MALFORMED = {
    "empty": b"",
    "no JSON": b"\x00\xff\xfe garbage",
    "half a message": b'{"type": "update", "content": {"ac"',
    "deep": b"[" * 4000,
    "a list": b"[]",
    "a number": b"7",
    "no type": b'{"content": {"ac": 1}}',
    "no content": b'{"type": "update"}',
    "unknown type": b'{"type": "description", "content": {}}',
    "type of a list": b'{"type": [], "content": {}}',
    "content of a list": b'{"type": "update", "content": [1]}',
    "neither action nor reset": b'{"type": "update", "content": {}}',
    "NaN": b'{"type": "update", "content": {"ac": NaN}}',
    "infinite": b'{"type": "update", "content": {"ac": 1e999}}',
    "negative": b'{"type": "update", "content": {"ac": -1}}',
    "too large": b'{"type": "update", "content": {"ac": 4096}}',
    "huge": b'{"type": "update", "content": {"ac": ' + b"9" * 4000 + b"}}",
    "fraction": b'{"type": "update", "content": {"ac": 1.5}}',
    "text": b'{"type": "update", "content": {"ac": "__import__(\'os\')"}}',
    "truth": b'{"type": "update", "content": {"ac": true}}',
    "reset of a text": b'{"type": "update", "content": {"reset": "yes"}}',
    "pickle": b"\x80\x04K\x01.",
}


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_message_is_answered_and_changes_nothing(start, data):
    server = start()
    with raw(server) as client:
        client.read()
        client.ask(RESET)
        answer = client.ask(data)
        assert (answer["type"], answer["content"]["exception"]) == ("exception", 0)
        assert isinstance(answer["content"]["reason"], str)
        assert [client.ask(press(3))["content"]["done"] for _ in range(5)] == [False] * 4 + [True]
    server.ended()
    assert [row[1] for row in server.rows()] == [5]
