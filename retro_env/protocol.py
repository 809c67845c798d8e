"""What a vector environment and its workers exchange: shared arrays and messages on sockets."""

import contextlib
import mmap
import socket
import struct
from typing import Any

import msgspec
import numpy as np

HEADER = struct.Struct("<Q")
STEP, PLAIN, REPORT = b"s", b"k", b"r"
"""Bytes on the socket: a step, its plain answer; any other message, its answer."""


class SharedBatch:
    """One block of shared memory holding what parent and workers exchange on every step."""

    def __init__(self, memory: mmap.mmap, *, num_envs: int, shape: tuple[int, ...]) -> None:
        offset = 0

        def take(extent: tuple[int, ...], dtype: Any) -> np.ndarray:
            nonlocal offset
            count = int(np.prod(extent))
            array = np.frombuffer(memory, dtype, count, offset).reshape(extent)
            offset += -(-array.nbytes // 64) * 64
            return array

        self.obs = take((num_envs, *shape), np.uint8)
        self.final_obs = take((num_envs, *shape), np.uint8)
        self.actions = take((num_envs,), np.int64)
        self.rewards = take((num_envs,), np.float64)
        self.terminated = take((num_envs,), np.bool_)
        self.truncated = take((num_envs,), np.bool_)

    @staticmethod
    def size(*, num_envs: int, shape: tuple[int, ...]) -> int:
        """Bytes that a batch needs, with room for alignment."""
        return num_envs * (2 * int(np.prod(shape)) + 18) + 6 * 64


def send_message(sock: socket.socket, message: Any) -> None:
    """One message: REPORT, its length, msgpack."""
    body = msgspec.msgpack.encode(message)
    sock.sendall(REPORT + HEADER.pack(len(body)) + body)


def send_last(sock: socket.socket, message: Any) -> None:
    """A message to a side that may have gone already."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        send_message(sock, message)


def receive_message(sock: socket.socket) -> Any:
    """The message whose REPORT byte has been read. Errors: EOFError."""
    (length,) = HEADER.unpack(receive_exactly(sock, HEADER.size))
    return msgspec.msgpack.decode(receive_exactly(sock, length))


def receive_exactly(sock: socket.socket, count: int) -> bytes:
    """`count` bytes; EOFError when the other side has gone."""
    chunks = bytearray()
    while len(chunks) < count:
        chunk = sock.recv(count - len(chunks))
        if not chunk:
            raise EOFError
        chunks += chunk
    return bytes(chunks)
