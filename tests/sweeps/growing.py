"""A run that Ray can begin quickly: with no agent and no game."""

REPORTS = 4
"""Number of reports of each run, one every 20 steps."""


def grows(values, config, out):
    """A run whose weight grows by gamma at each report; the file `line` names the run of each."""
    from ray import tune

    from retro_agents.sweeps.population import begin

    name = tune.get_context().get_trial_id()
    run_dir = out / "runs" / name
    if not begin(run_dir, tune.get_checkpoint()):
        run_dir.mkdir(parents=True)
        (run_dir / "line").write_text("")
        (run_dir / "episodes.csv").write_text("step,env,level,r,l,progress,finished\n")
    line = (run_dir / "line").read_text().split()
    weight = sum(float(step.split(":")[1]) for step in line)
    if len(line) == REPORTS:  # nothing is left to learn, which an agent reports too
        tune.report({"score": weight, "env_steps": 20 * REPORTS})
    while len(line) < REPORTS:
        line.append(f"{name}:{values['gamma']}")
        weight, steps = weight + values["gamma"], 20 * len(line)
        (run_dir / "line").write_text(" ".join(line))
        with (run_dir / "episodes.csv").open("a") as file:
            file.write(f"{steps},0,BrambleWood.Act1,{weight},5,0.5,0\n")
        with (out / "order").open("a") as file:
            file.write(f"{name}\n")
        kept = tune.Checkpoint.from_directory(str(run_dir))
        tune.report({"score": weight, "env_steps": steps}, checkpoint=kept)
