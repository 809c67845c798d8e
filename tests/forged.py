"""Checkpoints that somebody has changed, and put right checksums on."""

import hashlib
import json

from retro_agents.run.manifest import insert_checksum, write_json


def forge(folder, name, data):
    """Replace a file of a checkpoint."""
    meta = json.loads((folder / "meta.json").read_text())
    (folder / name).write_bytes(data)
    facts = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    meta["files"].setdefault(name, {}).update(facts)
    forge_meta(folder, **meta)


def forge_meta(folder, **changes):
    """Change entries of a checkpoint's meta.json."""
    meta = json.loads((folder / "meta.json").read_text()) | changes
    write_json(folder / "meta.json", meta | {"checksum": "0" * 64})
    insert_checksum(folder / "meta.json")
