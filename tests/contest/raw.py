"""A client that sends what it likes."""

import contextlib
import json
import socket
import time
from contextlib import contextmanager

RESET = {"type": "update", "content": {"reset": True}}


def press(number):
    return {"type": "update", "content": {"ac": number}}


class Raw:
    """Messages by hand."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(30)
        try:
            self.sock.connect(path)
        except OSError:
            self.sock.close()
            raise
        self.buffer = b""

    def send(self, data):
        self.sock.sendall(data)

    def read(self):
        """The next message; None at the end."""
        while b"\f" not in self.buffer:
            chunk = self.sock.recv(4096)
            if not chunk:
                assert self.buffer == b"", "a half message"
                return None
            self.buffer += chunk
        message, _, self.buffer = self.buffer.partition(b"\f")
        return json.loads(message)

    def ask(self, message):
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.send(data + b"\f")
        return self.read()


@contextmanager
def raw_of(client):
    try:
        yield client
    finally:
        client.sock.close()


def raw(server):
    return raw_of(Raw(server.socket()))


@contextmanager
def playing(server):
    """As `raw`, past the description and the first reset."""
    with raw(server) as client:
        client.read()
        client.ask(RESET)
        yield client


def patient(server):
    """As `raw`, past the description, for a server that is busy with its last visitor's leaving."""
    deadline = time.monotonic() + 30
    while True:
        assert time.monotonic() < deadline
        try:
            client = Raw(server.socket())
        except (ConnectionRefusedError, FileNotFoundError):
            time.sleep(0.005)
            continue
        with contextlib.suppress(ConnectionResetError):
            if client.read() is not None:
                return raw_of(client)
        client.sock.close()
