# gangcheck as a container: docker build --tag registry.example.com/ops/gangcheck:0.1.0 .
#
# Tag policy: the minor version of Python and the release of Debian are pinned, its patches are not: each build takes the
# security fixes of that day. For a build that can be made again, pin both stages to one digest:
#   docker build --build-arg PYTHON=python:3.13-slim-trixie@sha256:... .
# slim and not alpine: a glibc, and wheels for every dependency, so nothing is compiled and no compiler is needed.
ARG PYTHON=python:3.13-slim-trixie

FROM ${PYTHON} AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY webhook ./webhook
COPY certs ./certs
# An environment without pip, filled from outside. pip compiles what it installs: a read-only root takes no bytecode later.
RUN python -m venv --without-pip /opt/gangcheck \
 && python -m pip --python /opt/gangcheck/bin/python install --no-cache-dir --disable-pip-version-check .

FROM ${PYTHON}
# No pip in what runs: there is nothing to install.
RUN python -m pip uninstall --yes pip && rm -rf /usr/local/lib/python3*/ensurepip
COPY --from=build /opt/gangcheck /opt/gangcheck
# Logs leave at once. What is written goes to /tmp and /dev/shm alone.
ENV PATH=/opt/gangcheck/bin:$PATH HOME=/tmp PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /tmp
# By number, so that runAsNonRoot can be told; it needs no name, and owns nothing.
USER 65532:65532
EXPOSE 8443 8080
ENTRYPOINT ["gangcheck"]
CMD ["serve", "--listen", "0.0.0.0:8443", "--probes", "0.0.0.0:8080"]
