# Procgen as in the competition of NeurIPS 2020: docker-build/run.sh, PPO2, and the games.
#   docker build -f docker-build/competition.Dockerfile -t procgen .
#   docker run --rm --user $(id -u) -v "$PWD/outputs:/outputs" procgen --train --levels procgen:bigfish
# Build arguments, paths below the repository's folder:
#   TORCH_INDEX_URL package index to take torch from, to choose a CPU or a CUDA build
#   WHEELS          folder with wheels to install from instead of an index
#   BASE_IMAGE      Debian with Python 3.11 or newer
ARG BASE_IMAGE=python:3.11-slim-bookworm

FROM ${BASE_IMAGE} AS build
ARG TORCH_INDEX_URL=
ARG WHEELS=docker-build/empty
COPY ${WHEELS} /wheels/
COPY constraints.txt docker-build/install docker-build/competition.txt /build/
RUN --mount=type=secret,id=pip,target=/etc/pip.conf /build/install competition

FROM ${BASE_IMAGE}
# EnvPool draws Procgen's games with Qt.
RUN apt-get update && apt-get install -y --no-install-recommends libgl1 libglib2.0-0 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/venv /opt/venv
COPY ppo2 /app/ppo2
COPY retro_agents /app/retro_agents
COPY LICENSE /app/
COPY docker-build/run.sh /app/docker-build/run.sh
RUN chmod -R a+rX /app && install -d -o 10001 -g 10001 -m 0700 /outputs
ENV PYTHON=/opt/venv/bin/python OUTPUTS_DIR=/outputs HOME=/tmp USER=contest MPLCONFIGDIR=/tmp \
    PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /app
ENTRYPOINT ["/app/docker-build/run.sh"]
