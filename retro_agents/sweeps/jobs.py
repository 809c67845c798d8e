"""Scripts that run a grid's cells as jobs of a cluster, to be piped to sbatch or bsub."""

import argparse
import shlex
import sys
from collections.abc import Sequence

from retro_agents.sweeps.config import SweepConfig

CPUS = 2
"""Cores of a job. Two minutes before its time is over, its shell gets SIGTERM."""


def script(config: SweepConfig, arguments: Sequence[str], *, count: int) -> str:
    """A script with an array of `count` jobs, each of which runs one cell of this sweep.

    arguments: of this command, from which each job finds its cell. --jobs: how many jobs at a time.
    Each job has CPUS cores, and begins again if it was moved (Slurm: --requeue) or its host failed
    (LSF: -r); what --resources says wins. Jobs run this Python, which their nodes must have too,
    and log to --out, which must exist. Once all jobs are done, the same command without --engine
    and --resources runs missing cells and writes the table.
    """
    some = f"%{config.jobs}" if config.jobs else ""
    log = shlex.quote(f"{config.out}/job-{'%a' if config.engine == 'slurm' else '%I'}.log")
    if config.engine == "slurm":
        mark, index = "#SBATCH", "$SLURM_ARRAY_TASK_ID"
        head = ["--job-name=sweep", f"--array=1-{count}{some}", f"--output={log}"]
        # Before a job is ended or moved, its run saves; it resumes when the job begins again.
        head += [f"--cpus-per-task={CPUS}", "--requeue", "--open-mode=append"]
        head += ["--signal=B:TERM@120"]
    else:
        mark, index = "#BSUB", "$LSB_JOBINDEX"
        head = [f'-J "sweep[1-{count}]{some}"', f"-o {log}"]
        own, given = (f"-n {CPUS}", "-r", "-wt 2", "-wa TERM"), config.resources.split()
        head += [option for option in own if option.split()[0] not in given]
        head += [] if "span[" in config.resources else ['-R "span[hosts=1]"']
    head += [config.resources] if config.resources else []  # several options may share a line
    cluster = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    cluster.add_argument("--engine")
    cluster.add_argument("--resources")
    cluster.add_argument("--jobs")
    _, mine = cluster.parse_known_args(arguments)
    mine += ["--engine", "local", "--cell"]  # a plan may name the cluster
    # The shell becomes the command, so that signals reach it.
    command = f'exec {shlex.join([sys.executable, "-m", "retro_agents.sweeps", *mine])} "{index}"'
    return "\n".join(["#!/bin/bash", *(f"{mark} {line}" for line in head), command])
