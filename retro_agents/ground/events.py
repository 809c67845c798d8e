"""A run's metrics for TensorBoard."""

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, final

import yaml
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.types_pb2 import DT_STRING
from tensorboard.plugins.text.metadata import create_summary_metadata
from tensorboard.summary.writer.record_writer import RecordWriter

from retro_agents.ground.files import writing


@final
class Events:
    """One event file; each row is flushed at once.

    torch's SummaryWriter writes in a thread, where errors such as a full disk end in a traceback.
    """

    def __init__(
        self, run_dir: Path, *, resume_step: int | None, config: Mapping[str, Any] | None = None
    ) -> None:
        """resume_step: env steps of the checkpoint that the run resumes; later rows are dropped.
        config: shown as text.

        Raises UserError if the file cannot be written.
        """
        host, clock = socket.gethostname(), time.time_ns() // 1000
        self._path = run_dir / f"events.out.tfevents.{clock}.{host}.{os.getpid()}"
        with writing(self._path):
            self._writer = RecordWriter(self._path.open("ab"))
        self._write(file_version="brain.Event:2")
        if resume_step is not None:
            self._write(step=resume_step + 1, session_log=SessionLog(status=SessionLog.START))

        if config is not None:
            text = f"```\n{yaml.safe_dump(dict(config), sort_keys=False)}```".encode()
            shown = Summary.Value(
                tag="config/text_summary",
                metadata=create_summary_metadata("config", ""),
                tensor=TensorProto(dtype=DT_STRING, string_val=[text]),
            )
            self._write(step=0, summary=Summary(value=[shown]))

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Writes numbers by name at this env step. Raises UserError if they cannot be written."""
        rows = [Summary.Value(tag=name, simple_value=float(v)) for name, v in values.items()]
        self._write(step=step, summary=Summary(value=rows))

    def _write(self, **what: Any) -> None:
        with writing(self._path):
            self._writer.write(Event(wall_time=time.time(), **what).SerializeToString())
            self._writer.flush()

    def close(self) -> None:
        """Closes the file."""
        with suppress(OSError):  # `log` has already reported it
            self._writer.close()
