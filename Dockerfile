# The agent's side of the contest: plays whatever level a server has in the shared folder /share.
#   docker build -t contest-agent --build-arg AGENT=rainbow --build-arg CHECKPOINT=runs/NAME .
# Build arguments, paths below this folder; see docs/contest/images.md:
#   AGENT           random, hold-right, run-and-jump, a package (rainbow, …), or module:function
#   CHECKPOINT      checkpoint or run folder to start from; none: the package's own `pretrained`
#   CODE            folder with your own modules, for AGENT=module:function
#   TORCH_INDEX_URL package index to take torch from, to choose a CPU or a CUDA build
#   WHEELS          folder with wheels to install from instead of an index
#   BASE_IMAGE      Debian with Python 3.11 to 3.13
ARG BASE_IMAGE=python:3.11-slim-bookworm

FROM ${BASE_IMAGE} AS build
ARG TORCH_INDEX_URL=
ARG WHEELS=docker-build/empty
COPY ${WHEELS} /wheels/
COPY constraints.txt docker-build/install docker-build/agent.txt /build/
RUN --mount=type=secret,id=pip,target=/etc/pip.conf /build/install agent

COPY es /app/es
COPY impala /app/impala
COPY jerk /app/jerk
COPY lsh_memory /app/lsh_memory
COPY ppo2 /app/ppo2
COPY rainbow /app/rainbow
COPY retro_agents /app/retro_agents
COPY sac /app/sac
COPY trpo /app/trpo
COPY LICENSE docker-build/agent_entry.py /app/
ARG CODE=docker-build/empty
COPY ${CODE} /app/
# Of a run folder only the checkpoint is kept that an agent would start from.
ARG CHECKPOINT=docker-build/empty
COPY ${CHECKPOINT} /given/
ARG AGENT=rainbow
# For another user to read, whatever the umask here gave the copied files.
RUN cd /app && /opt/venv/bin/python agent_entry.py --keep-checkpoint "${AGENT}" /given /checkpoint \
    && chmod -R a+rX /app /checkpoint

FROM ${BASE_IMAGE}
COPY --from=build /opt/venv /opt/venv
COPY --from=build /app /app
COPY --from=build /checkpoint /checkpoint
# /share: the server's folder. /runs: what an agent that goes on learning writes.
RUN install -d -o 10001 -g 10001 -m 0700 /share /runs
ARG AGENT=rainbow
ENV AGENT=${AGENT} MODE=adapt TIMESTEPS=1000000 SEED=0 \
    HOME=/tmp USER=contest MPLCONFIGDIR=/tmp NUMBA_CACHE_DIR=/tmp/numba \
    PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /app
USER 10001:10001
ENTRYPOINT ["/opt/venv/bin/python", "/app/agent_entry.py"]
