# The environment's side of the contest: serves one level in the shared folder /share and keeps its
# records in /results.
#   docker build -f docker-build/environment.Dockerfile -t contest-environment .
# Build arguments, paths below the repository's folder:
#   ROMS            folder with your own ROMs, as for `retro-agents import-roms`; the image is then for you alone
#   WHEELS          folder with wheels to install from instead of an index
#   BASE_IMAGE      Debian with Python 3.11 or newer
ARG BASE_IMAGE=python:3.11-slim-bookworm

FROM ${BASE_IMAGE} AS build
ARG WHEELS=docker-build/empty
COPY ${WHEELS} /wheels/
COPY constraints.txt docker-build/install docker-build/environment.txt /build/
RUN --mount=type=secret,id=pip,target=/etc/pip.conf /build/install environment

COPY cartridge/integration /app/cartridge/integration
COPY retro_agents /app/retro_agents
COPY LICENSE /app/
ARG ROMS=docker-build/empty
COPY ${ROMS} /roms/
RUN cd /app && if [ "${ROMS}" != docker-build/empty ]; then \
    PYTHONDONTWRITEBYTECODE=1 /opt/venv/bin/python -m retro_agents.games.retro.import_roms /roms; fi \
    && chmod -R a+rX /app

FROM ${BASE_IMAGE}
COPY --from=build /opt/venv /opt/venv
COPY --from=build /app /app
RUN install -d -o 10001 -g 10001 -m 0700 /share /results
ENV HOME=/tmp USER=contest NUMBA_CACHE_DIR=/tmp/numba \
    PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /app
USER 10001:10001
ENTRYPOINT ["/opt/venv/bin/python", "-m", "retro_agents.contest.serve", "--dir", "/share", "--results", "/results"]
CMD ["BrambleDash-Genesis-v0", "BrambleWood.Act3"]
