import os
import signal
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from es.mpi import Agreed, World, agreeing, check_starter
from es.train import main, train_in_world
from retro_agents.ground.errors import UserError
from retro_agents.run.checkpoint import load_checkpoint
from tests.es.mpirun import MPIRUN, finished, mpirun, needs_mpirun
from tests.runs import interrupted

OF_OPEN_MPI = pytest.raises(UserError, match=r"Open MPI's mpirun .* uses MPICH")
OF_MPICH = pytest.raises(UserError, match=r"MPICH's mpirun .* uses Open MPI")


@pytest.mark.parametrize(
    ("library", "environment", "ends"),
    [
        ("MPICH Version: 5.0", {"OMPI_COMM_WORLD_RANK": "0"}, OF_OPEN_MPI),
        ("Open MPI v5.0.3", {"PMI_RANK": "0"}, OF_MPICH),
        ("MPICH Version: 5.0", {"OMPI_COMM_WORLD_RANK": "1"}, pytest.raises(Agreed)),
        ("Open MPI v5", {"OMPI_COMM_WORLD_RANK": "1"}, nullcontext()),
        ("MPICH Version: 5.0", {"PMI_RANK": "0"}, nullcontext()),
        ("Open MPI v5", {"PMI_RANK": "0", "SLURM_PROCID": "0"}, nullcontext()),
        ("MPICH Version: 5.0", {}, nullcontext()),
    ],
)
def test_the_mpirun_of_another_mpi_is_one_line_and_its_own_is_taken(library, environment, ends):
    with ends:
        check_starter(library, environment)


@needs_mpirun
def test_open_mpis_mpirun_ends_before_mpi_begins():
    environment = {**os.environ, "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}
    done = finished([sys.executable, "es/master.py"], env=environment)
    assert done.returncode == 2 and done.stderr.startswith("error: Open MPI's mpirun started this")
    assert done.stderr.count("\n") == 1


def test_mistake_of_one_process_is_everybodys_and_the_first_says_it(capsys):
    class Two(World):
        def exchange(self, payload):
            return [payload, b"the disk is full"]

    for rank in (0, 1):
        world = Two()
        world.rank, world.size = rank, 2
        with pytest.raises(Agreed, match="2"), agreeing(world):
            pass
        assert capsys.readouterr().err == ("" if rank else "error: the disk is full\n")
        with pytest.raises(Agreed, match="2"), agreeing(world):
            raise UserError("mine")
        assert capsys.readouterr().err == ("" if rank else "error: mine\n")


@needs_mpirun
def test_mpirun_starts_the_file_by_its_first_line_and_a_mistake_is_one_line():
    path = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = finished([str(MPIRUN), "-n", "2", "es/master.py", "--pairs", "0"], env=path)
    (line,) = done.stderr.strip().splitlines()
    assert done.returncode == 2 and "--pairs 0: expected" in line


FAILS = """
from es.master import together
from retro_agents.ground.errors import UserError

def work(world):
    if world.rank == {rank}:
        raise {error}("the disk is full")
    world.exchange(b"I would wait for ever")

together(work)
"""


@needs_mpirun
@pytest.mark.parametrize(
    ("rank", "error", "code", "says"),
    [(1, "ValueError", 1, "ValueError: the disk"), (0, "UserError", 2, "error: the disk is full")],
)
def test_error_in_one_process_ends_those_that_wait_for_it(rank, error, code, says):
    done = finished(mpirun(2, "-c", FAILS.format(rank=rank, error=error)))
    assert done.returncode == code and says in done.stderr


@needs_mpirun
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_a_checkpoint_and_ends_all_processes(number, tmp_path):
    words = (
        *("--levels", "BrambleWood.Act1", "--num-envs", "2", "--pairs", "2", "--timesteps", "9e9"),
        *("--init", "", "--encoder", "data-efficient", "--hidden", "8", "--episode-steps", "9"),
        *("--image-height", "36", "--image-width", "36", "--run-dir", str(tmp_path)),
    )
    said = interrupted(mpirun(2, "es/master.py", *words), tmp_path, number=number)
    assert "saving a checkpoint" in said and "--resume continues from the last checkpoint" in said
    assert "Traceback" not in said
    assert load_checkpoint(tmp_path).counters["generation"] > 0


def test_machines_that_do_not_share_the_runs_folder_do_not_begin_what_others_resume(tmp_path):
    world = World()
    world.exchange = lambda sent, **_: [sent, b"\1"] if sent == b"\0" else [sent]  # one resumes
    with pytest.raises(UserError, match="only some of the machines have a checkpoint in"):
        train_in_world(["--auto-resume", "--num-envs", "1", "--run-dir", str(tmp_path)], world)
    assert not any(tmp_path.iterdir())


def test_processes_that_mpirun_started_are_not_each_a_run_of_its_own(monkeypatch, refused):
    for name in ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "4")
            said = refused(main, ["--levels", "nowhere"])
            assert "use `mpirun -n 4 python -m es.master …`" in said
            patch.setenv(name.replace("SIZE", "RANK"), "1")
            with pytest.raises(Agreed, match="2"):  # the first has said so
                main([])


CLAIMS = """
from es.master import together

def work(world):
    seen = []
    for count in (200, 1, 90):
        mine = list(world.claims(count))
        seen += world.exchange(" ".join(map(str, mine)).encode())
    if world.rank == 0:
        print("|".join(part.decode() for part in seen))

together(work)
"""


@needs_mpirun
def test_processes_together_claim_every_number_once_per_generation():
    done = finished(mpirun(2, "-c", CLAIMS))
    assert done.returncode == 0, done.stderr
    parts = done.stdout.strip("\n").split("|")
    for generation, count in enumerate((200, 1, 90)):
        both = parts[2 * generation : 2 * generation + 2]
        assert sorted(int(number) for part in both for number in part.split()) == list(range(count))
