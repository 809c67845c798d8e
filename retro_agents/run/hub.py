"""Share checkpoints on the Hugging Face Hub, with a card and a film.

Only the files that the checkpoint's meta.json names are pushed and pulled; links are refused.

retro-agents hub push runs/rainbow OWNER/NAME --result runs/evaluation-001/result.json \\
    --film runs/evaluation-001/SpiralMeadow.Act2.mp4
retro-agents hub pull OWNER/NAME runs/pulled
"""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from retro_agents.ground.errors import Parser, UserError, command
from retro_agents.ground.files import drafted_folder
from retro_agents.ground.results import read_result
from retro_agents.run.checkpoint import file_names, load_checkpoint
from retro_agents.run.tracking import PROJECT

CARD = """\
---
{front}---
# {agent}

An agent of {library} after {steps:,} agent steps. Fetch it with
`retro-agents hub pull {name} FOLDER`. Then load it with
`retro_agents.load_agent("FOLDER")`, or watch it with `retro-agents watch FOLDER`.
{scores}{film}
```yaml
{config}```
"""
LEARNING = "reinforcement-learning"
"""The Hub's name of the task, and of the pipeline."""


class _Score(msgspec.Struct):
    label: str
    mean: float
    episodes: int
    low: float | None = None
    high: float | None = None

    @property
    def text(self) -> str:
        """The mean, and the longer half of its interval if there is one."""
        if self.low is None or self.high is None:
            return f"{self.mean:.0f}"
        return f"{self.mean:.0f} ± {max(self.high - self.mean, self.mean - self.low):.0f}"

    @property
    def sentence(self) -> str:
        """The card's sentence."""
        about = " (±: 95 % interval)" if "±" in self.text else ""
        return f"{self.label}: mean return {self.text} of {self.episodes} episodes{about}."


class _Result(msgspec.Struct):
    scores: list[_Score]


def read_evaluation(path: Path) -> list[_Score]:
    """The scores in an evaluation's result.json. Raises UserError if it is none."""
    expected = "give the result.json that `retro-agents evaluate` wrote"
    try:
        return msgspec.convert(read_result(path, expected=expected), _Result).scores
    except msgspec.ValidationError:
        raise UserError(f"{path} is not an evaluation's result: {expected}") from None


def front(agent: str, scores: Sequence[_Score], *, licence: str) -> str:
    """The card's front matter, by which the Hub finds an agent and shows its scores."""
    facts: dict[str, Any] = {"library_name": PROJECT, "license": licence}
    facts |= {"pipeline_tag": LEARNING, "tags": [LEARNING, agent]}
    results = [
        {
            "task": {"type": LEARNING, "name": LEARNING},
            "dataset": {"type": one.label, "name": one.label},
            "metrics": [{"type": "mean_reward", "value": one.text, "name": "mean_reward"}],
        }
        for one in scores
    ]
    if results:
        facts["model-index"] = [{"name": agent, "results": results}]
    return yaml.safe_dump(facts, sort_keys=False, allow_unicode=True)


def push(
    checkpoint: Path,
    name: str,
    *,
    film: Path | None = None,
    result: Path | None = None,
    licence: str = "mit",
) -> str:
    """Upload a checkpoint, or a run's latest, as OWNER/NAME -> its address. film: shown as its
    replay; result: an evaluation's, whose scores go on the card. Raises UserError if a file is
    missing or damaged, and the Hub's own errors."""
    from huggingface_hub import HfApi

    if film is not None and not film.is_file():
        raise UserError(f"no film {film}: `retro-agents evaluate AGENT --video` makes some")
    scores = read_evaluation(result) if result is not None else []
    saved = load_checkpoint(checkpoint)
    saved.check_arrays()
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder)
        copy_checkpoint(saved.folder, whole)
        text = CARD.format(
            front=front(saved.agent, scores, licence=licence),
            library=PROJECT,
            agent=saved.agent,
            name=name,
            steps=saved.counters["env_steps"],
            scores="".join(f"\n{one.sentence}\n" for one in scores),
            film='\n<video controls src="replay.mp4"></video>\n' if film else "",
            config=yaml.safe_dump(saved.config, sort_keys=False),
        )
        (whole / "README.md").write_text(text, encoding="utf-8")
        if film is not None:
            shutil.copy(film, whole / "replay.mp4")
        api = HfApi()
        api.create_repo(name, exist_ok=True)
        return str(api.upload_folder(repo_id=name, folder_path=whole))


def pull(name: str, folder: Path) -> Path:
    """Fetch OWNER/NAME into a new folder -> the folder. Called again, it resumes. Raises UserError
    if the folder exists or no intact checkpoint is fetched, and the Hub's own errors."""
    from huggingface_hub import hf_hub_download, snapshot_download

    if folder.exists():
        raise UserError(f"{folder} already exists; give a new folder")
    download = folder.with_name(f".download.{folder.name}")
    begun = download.exists()
    try:
        hf_hub_download(name, "meta.json", local_dir=download)
    except BaseException:
        if not begun:  # there is nothing to resume
            shutil.rmtree(download, ignore_errors=True)
        raise
    try:
        snapshot_download(name, local_dir=download, allow_patterns=[*file_names(download)])
        with drafted_folder(folder) as draft:
            copy_checkpoint(download, draft)
            load_checkpoint(draft).check_arrays()
    except UserError:  # refused: the next pull begins anew
        shutil.rmtree(download)
        raise
    shutil.rmtree(download)
    return folder


def copy_checkpoint(checkpoint: Path, folder: Path) -> None:
    """Copies the files that meta.json names, and itself. Raises UserError if one is missing, or is
    a link."""
    for name in file_names(checkpoint):
        path = checkpoint / name
        if path.is_symlink() or not path.is_file():
            raise UserError(f"{path} cannot be shared: it is missing, or a link")
        shutil.copyfile(path, folder / name)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Push or pull as the command line says."""
    parser = Parser(prog="retro-agents hub", description=__doc__)
    ways = parser.add_subparsers(dest="way", required=True, metavar="{push,pull}")
    push_way, pull_way = (ways.add_parser(way) for way in ("push", "pull"))
    push_way.add_argument("checkpoint", type=Path)
    push_way.add_argument("name", metavar="OWNER/NAME")
    push_way.add_argument("--film", type=Path, help="film to show: FILE.mp4")
    push_way.add_argument("--result", type=Path, help="result.json of an evaluation")
    push_way.add_argument("--licence", default="mit", help="default: mit")
    pull_way.add_argument("name", metavar="OWNER/NAME")
    pull_way.add_argument("folder", type=Path)
    given = vars(parser.parse_args(argv))
    way = push if given.pop("way") == "push" else pull
    from huggingface_hub.errors import HTTPError

    try:
        print(way(**given))
    # The first two are the Hub's own errors; the third is raised without a network.
    except (OSError, ValueError, HTTPError) as error:
        said = str(error).strip() or type(error).__name__
        raise UserError(f"the Hub: {said.splitlines()[0]}") from None


if __name__ == "__main__":
    main()
