#!/usr/bin/env bash
# Procgen as in the competition of NeurIPS 2020: train on one game within its limits, or play.
#   run.sh --train [FLAGS…]     8M steps (or EXPERIMENT's timesteps) or two hours, whichever ends
#                               first; prints the throughput
#   run.sh --rollout [FLAGS…]   whole episodes on training and test levels
# FLAGS go to `python -m ppo2.train` (--levels procgen:bigfish), or `retro-agents procgen evaluate`.
# Environment:
#   EXPERIMENT           YAML file for --config; default: ppo2/presets/procgen-competition.yaml
#   OUTPUTS_DIR          folder of the run, which is resumed if it is there; default: outputs
#   CHECKPOINT           what --rollout plays: a run or a checkpoint; default: OUTPUTS_DIR
#   EPISODES             for --rollout, on each set of levels; default: 5
#   RAY_CPUS             threads that learn; default: 2. There is no Ray, and no other RAY_ variable
#   SECONDS_LIMIT        for --train; default: 7200, of which the last 120 are for the checkpoint
#   PYTHON               the Python that has the packages; default: that of .venv
#   AICROWD_IS_GRADING   a grader runs this: OUTPUTS_DIR must be given
set -euo pipefail

fail() { echo "error: $1" >&2; exit 2; }

case "${1:-}" in
  --train|--rollout) task=$1; shift ;;
  -h|--help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) fail "say what to do: run.sh --train or run.sh --rollout" ;;
esac
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=${PYTHON:-$repository/.venv/bin/python}
[ -z "${AICROWD_IS_GRADING:-}" ] || [ -n "${OUTPUTS_DIR:-}" ] || fail "a grader gives OUTPUTS_DIR"
outputs=$(realpath -m "${OUTPUTS_DIR:-outputs}")
experiment=$(realpath -m "${EXPERIMENT:-$repository/ppo2/presets/procgen-competition.yaml}")
checkpoint=$(realpath -m "${CHECKPOINT:-$outputs}")
seconds=${SECONDS_LIMIT:-7200}
[[ $seconds =~ ^[1-9][0-9]*$ && $seconds -gt 120 ]] || fail "SECONDS_LIMIT=$seconds: give more than 120"
export PYTHONPATH="$repository${PYTHONPATH:+:$PYTHONPATH}"

if [ "$task" = --rollout ]; then
  exec "$python" -m retro_agents.judging.procgen "$checkpoint" --episodes "${EPISODES:-5}" "$@"
fi
start=(--config "$experiment")
grep -qsE '^([^#]*[ {,])?"?timesteps"?:' "$experiment" || start+=(--timesteps 8000000)
shopt -s nullglob
saved=("$outputs"/checkpoints/step-*)
if [ ${#saved[@]} -gt 0 ]; then
  start=(--resume)
elif [ -f "$outputs/config.json" ]; then
  # A trainer locks its folder (alone_in); where the file system has no locks, flock fails otherwise.
  flock --wait 5 --conflict-exit-code 9 "$outputs" true || [ $? -ne 9 ] ||
    fail "another training writes to $outputs: wait for its end, or give another OUTPUTS_DIR"
  aside="$outputs/stopped/$(date +%s)"
  echo "run.sh: what was stopped before its first checkpoint is now in $aside" >&2
  mkdir -p "$aside"
  find "$outputs" -mindepth 1 -maxdepth 1 ! -name stopped -exec mv -t "$aside" {} +
fi
# A second interrupt ends a run without a checkpoint. So setsid lets Ctrl-C reach this script alone,
# and --foreground keeps timeout's signal from the whole group.
setsid timeout --foreground --signal INT --kill-after 120 $((seconds - 120)) \
  "$python" -m ppo2.train "${start[@]}" --run-dir "$outputs" --torch-threads "${RAY_CPUS:-2}" "$@" &
child=$!
trap 'kill -TERM $child' INT TERM
status=0
wait $child || status=$?
while kill -0 $child 2>/dev/null; do  # a signal ended only the waiting
  status=0
  wait $child || status=$?
done
if [ $status = 124 ]; then
  echo "run.sh: the time is up" >&2
  status=0
fi
[ -f "$outputs/timing.csv" ] || exit $status
# Seconds begin anew where a run was resumed.
awk -F, 'NR > 1 { if ($2 < then) total += then; then = $2; step = $1 }
  END { total += then; if (total > 0) printf "run.sh: %d steps in %.0f seconds, %.1f steps/s\n",
    step, total, step / total }' "$outputs/timing.csv"
exit $status
