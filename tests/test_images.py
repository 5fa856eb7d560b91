"""The libc of images, told from references."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.images import Libc, Reference, glibc_variant, hooked, libc, reference, table
from webhook.model import Container, Env, Pod, Ref
from webhook.rule import Finding, Severity
from webhook.rules.musl_image import musl_image
from webhook.rules.no_libdl_image import no_libdl_image
from webhook.rules.old_glibc_image import old_glibc_image
from webhook.rules.static_image import static_image
from webhook.stack import VENDORS, Names, Stack

DIGEST = "sha256:" + "0" * 64
GPU = {"nvidia.com/gpu": 1, "nvidia.com/gpumem": 4000}
AMD = {"amd.com/gpu": 1, "amd.com/gpumem": 4000}


@pytest.mark.parametrize(
    ("image", "repository", "tag"),
    [
        ("alpine", "docker.io/library/alpine", "latest"),
        ("alpine:3.20", "docker.io/library/alpine", "3.20"),
        ("docker.io/alpine:3.20", "docker.io/library/alpine", "3.20"),
        ("index.docker.io/library/alpine", "docker.io/library/alpine", "latest"),
        ("registry-1.docker.io/grafana/grafana:12", "docker.io/grafana/grafana", "12"),
        ("grafana/grafana:12", "docker.io/grafana/grafana", "12"),
        ("localhost/grafana:12", "localhost/grafana", "12"),
        ("localhost:5000/grafana", "localhost:5000/grafana", "latest"),
        ("registry.example.com:5000/ml/cuda", "registry.example.com:5000/ml/cuda", "latest"),
        ("registry.example.com:5000/ml/cuda:12", "registry.example.com:5000/ml/cuda", "12"),
        ("Registry/alpine", "registry/alpine", "latest"),
        ("public.ecr.aws/docker/library/golang:1.24", "docker.io/library/golang", "1.24"),
        ("mirror.gcr.io/library/nginx", "docker.io/library/nginx", "latest"),
        ("docker.m.daocloud.io/library/redis:7", "docker.io/library/redis", "7"),
        ("harbor.example.com/dockerhub/library/redis:7", "docker.io/library/redis", "7"),
        ("rancher/mirrored-library-busybox:1.36", "docker.io/library/busybox", "1.36"),
    ],
)
def test_reference_is_normalised(image: str, repository: str, tag: str) -> None:
    ref = reference(image)
    assert ref is not None
    assert (ref.repository, ref.tag, ref.digest) == (repository, tag, "")


def test_reference_takes_digests_alone_and_beside_a_tag() -> None:
    name = "registry.example.com:5000/base/alpine"
    assert reference(f"{name}@{DIGEST}") == Reference("registry.example.com:5000", name, name, "", DIGEST)
    assert reference(f"{name}:3.20@{DIGEST}") == Reference("registry.example.com:5000", name, name, "3.20", DIGEST)


@pytest.mark.parametrize(
    ("image", "repository"),
    [
        ("hub.example.com/cache/python:3", "docker.io/library/python"),
        ("hub.example.com/cache/grafana/grafana", "docker.io/grafana/grafana"),
        ("hub.example.com/cache/quay.io/prometheus/busybox", "quay.io/prometheus/busybox"),
        ("hub.example.com/cached/python", "hub.example.com/cached/python"),
    ],
)
def test_reference_behind_a_mirror_of_the_user(image: str, repository: str) -> None:
    ref = reference(image, ("hub.example.com/cache/",))
    assert ref is not None
    assert ref.repository == repository
    assert ref.name.startswith("hub.example.com/")


@pytest.mark.parametrize(
    "image",
    [
        *("", " ", " a", "a\n", "A", "ä", "a:", "/a", "a//b", "a:1:2", "a@sha256:12", "a" * 2000),
        *("$IMAGE", "${IMAGE}:1", "{{ .Values.image }}", "<CHANGE ME>"),
    ],
)
def test_text_that_is_no_reference(image: str) -> None:
    assert reference(image) is None
    assert libc(image) == Libc("unknown")


# Verdicts: every trap of the study

MUSL = ("musl", False)
FULL = ("glibc", True)
SHORT = ("glibc", False)
NONE = ("none", False)
UCLIBC = ("uclibc", False)
UNKNOWN = ("unknown", None)


@pytest.mark.parametrize(
    ("image", "verdict", "loud"),
    [
        # musl without the word
        *[
            (image, MUSL, True)
            for image in ("docker:27-dind", "traefik:v3.1", "caddy:2", "bash", "composer", "znc:1.9-slim")
        ],
        *[(image, MUSL, True) for image in ("wordpress:cli", "curlimages/curl:8.1", "n8nio/n8n", "apache/kafka:4.0.0")],
        ("jrottenberg/ffmpeg:8.1-scratch320", MUSL, True),
        ("volcanosh/vc-scheduler:v1.13", MUSL, True),
        # musl with the word
        ("alpine", MUSL, True),
        (f"alpine@{DIGEST}", MUSL, True),
        ("python:3.12-alpine3.20", MUSL, True),
        ("mirror.gcr.io/library/python:3.12-alpine", MUSL, True),
        (f"registry.example.com:5000/base/alpine:3.20@{DIGEST}", MUSL, True),
        ("registry.example.com/team/serve:alpine", MUSL, True),
        ("registry.example.com/team/serve:alpine3.20-r1", MUSL, True),
        ("registry.example.com/team/serve:v1.2-alpine-r1", MUSL, True),
        ("registry.example.com/team/serve:latest-alpine", MUSL, True),
        ("registry.example.com/team/serve:1.2-musl", MUSL, True),
        ("registry.example.com/team/void-musl:1", MUSL, True),
        ("busybox:1.37-musl", MUSL, True),
        # musl, told softly
        ("adminer:4", MUSL, False),
        ("registry.example.com/team/alpine-tools:1", MUSL, False),
        ("registry.example.com/team/tools-alpine:1", MUSL, False),
        ("alpine/helm:3", MUSL, False),
        # the word without musl
        ("frolvlad/alpine-glibc:alpine-3.17_glibc-2.34", FULL, True),
        ("registry.example.com/base/alpine-glibc:3.19", UNKNOWN, False),
        ("registry.example.com/base/alpine-glibc:alpine-3.17", UNKNOWN, False),
        ("registry.example.com/base/serve:1.0-alpine-glibc", UNKNOWN, False),
        ("mambaorg/micromamba:2.0-alpine3.20", FULL, True),
        ("ghcr.example.com/mambaorg/micromamba:2.0-alpine3.20", UNKNOWN, False),
        ("continuumio/miniconda3:4.12-alpine", FULL, True),
        ("clickhouse/clickhouse-server:25.3-alpine", FULL, True),
        ("registry.example.com/alpine-team/pytorch:2.4-cuda12", FULL, False),
        ("registry.example.com/alpine-team/pytorch:2.4", UNKNOWN, False),
        ("registry.example.com/alpinelab/infer:1.0", UNKNOWN, False),
        ("alpine.example.com/ml/infer:1.0", UNKNOWN, False),
        ("registry.example.com/ml/infer:fix-alpine-dns-7f3a", UNKNOWN, False),
        ("registry.example.com/alpine:cuda12", FULL, False),
        ("golang:1.24-windowsservercore-ltsc2022", UNKNOWN, False),
        ("docker:windowsservercore", UNKNOWN, False),
        ("docker:29-bookworm", FULL, False),
        # digests
        (f"python@{DIGEST}", UNKNOWN, False),
        (f"registry.example.com/base/alpine@{DIGEST}", UNKNOWN, False),
        (f"ollama/ollama@{DIGEST}", FULL, True),
        (f"gcr.io/distroless/static@{DIGEST}", UNKNOWN, False),
        # busybox
        ("busybox", SHORT, True),
        ("busybox:1.36-glibc", SHORT, True),
        ("busybox:1.37", SHORT, True),
        ("quay.io/prometheus/busybox:glibc", SHORT, True),
        ("quay.io/prometheus/busybox", UCLIBC, True),
        ("busybox:1.28", UCLIBC, True),
        ("busybox:1.34.0", UCLIBC, True),
        ("busybox:1.34.1", SHORT, True),
        ("busybox:1.37-uclibc", UCLIBC, True),
        ("rancher/mirrored-library-busybox:1.34.1", UCLIBC, True),
        ("rancher/mirrored-library-busybox:1.35", SHORT, True),
        ("registry.example.com/tools/busybox:1.36", ("unknown", False), False),
        ("registry.example.com/tools/busybox:1.36-glibc", ("unknown", False), False),
        ("registry.example.com/tools/busybox:1.36-uclibc", UCLIBC, False),
        ("ghcr.io/void-linux/void-glibc-busybox:latest", FULL, True),
        ("ghcr.io/void-linux/void-musl-busybox:latest", MUSL, True),
        ("cgr.dev/chainguard/busybox:latest", FULL, True),
        ("lobehub/lobe-chat:1", FULL, True),
        # static
        ("gcr.io/distroless/static-debian12", NONE, True),
        ("registry.example.com/distroless/static-debian12:nonroot", NONE, False),
        ("cgr.dev/chainguard/static:latest-glibc", NONE, True),
        ("registry.example.com/infra/pause:3.10", NONE, False),
        ("registry.example.com/team/tool-static:1", NONE, False),
        ("registry.example.com/team/tool:1.0-static", NONE, False),
        ("registry.example.com/team/tool:1.0-scratch", NONE, False),
        ("hello-world", NONE, True),
        ("nats:2.11", NONE, True),
        ("traefik:v1.7", NONE, True),
        # glibc
        ("gcr.io/distroless/cc-debian12:nonroot", FULL, True),
        ("registry.example.com/distroless/python3-debian12", FULL, False),
        ("registry.example.com:5000/ml/cuda", FULL, False),
        ("registry.example.com/ml/serve:1.2-ubuntu22.04", FULL, False),
        ("registry.example.com/ml/serve:al2023", FULL, False),
        ("registry.example.com/ml/serve:1.2-slim", FULL, False),
        ("rocm/dev-ubuntu-22.04:6.2", FULL, True),
        ("jupyter/scipy-notebook:latest", FULL, True),
        ("nixos/nix:2.30", ("glibc", None), True),
        # nobody knows
        ("registry.example.com/team/tool:1.4-distroless", UNKNOWN, False),
        ("registry.example.com/team/tool:1.4", UNKNOWN, False),
        ("jupyter/a/b:1", UNKNOWN, False),
        ("rancher/k3s:v1.33", ("unknown", None), True),
    ],
)
def test_verdict(image: str, verdict: tuple[str, bool | None], *, loud: bool) -> None:
    found = libc(image)
    assert (found.libc, found.has_libdl) == verdict
    assert found.loud == loud


def test_confidence_is_high_only_where_a_file_was_read() -> None:
    assert libc("traefik:v3.1").confidence == "high"
    assert libc("registry.example.com/team/serve:1.4-alpine").confidence == "low"
    assert libc(f"traefik:v3.1@{DIGEST}").confidence == "low"
    assert libc("adminer:4").confidence == "low"


def test_reason_names_source_date_and_change() -> None:
    assert libc("traefik:v3.1").why == "built on alpine, read 2026-08"
    assert libc("adminer:4").why.endswith("tag 4 was glibc before 2025-03")
    assert libc(f"caddy:2@{DIGEST}").why.endswith("by its tag, not its digest")


@pytest.mark.parametrize(
    ("image", "why"),
    [
        ("golang:1.22-alpine3.19", "alpine3.19 in its tag"),
        ("python:3.9-alpine3.15", "alpine3.15 in its tag"),
        ("node:18-alpine", "node's alpine tags are built on alpine, read 2026-08"),
        ("python:3.12-alpine", "python's alpine tags are built on alpine, read 2026-08"),
        ("bash:4", "built on alpine, read 2026-08"),
        ("registry.k8s.io/coredns/coredns:v1.8.0", "built on distroless/static-debian, read 2026-08"),
    ],
)
def test_reason_is_true_of_old_tags_too(image: str, why: str) -> None:
    """Dockerfiles were read as they were on one day: an older tag is built on an older release."""
    assert libc(image).why == why


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("centos:6", (2, 12)),
        ("centos:7.9.2009", (2, 17)),
        ("centos:centos7", (2, 17)),
        ("nvidia/cuda:8.0-devel-ubuntu16.04", (2, 23)),
        ("nvidia/cuda:11.0-cudnn8-devel-ubuntu18.04", (2, 27)),
        ("nvidia/cuda:10.2-base-ubi7", (2, 17)),
        ("debian:9-slim", (2, 24)),
        ("debian:jessie", (2, 19)),
        ("python:3.7-stretch", (2, 24)),
        ("ubuntu:xenial", (2, 23)),
        ("ubuntu:24.04", (2, 39)),
        ("amazonlinux:2.0.2024", (2, 26)),
        ("amazonlinux:2018.03", (2, 17)),
        ("rockylinux:8.9", (2, 28)),
        ("rocm/dev-ubuntu-20.04:6.2", (2, 31)),
        ("frolvlad/alpine-glibc:alpine-3.17_glibc-2.34", (2, 34)),
        ("registry.example.com/base/ubuntu:14.04", (2, 19)),
        ("registry.example.com/base/centos:latest", None),
        ("registry.example.com/team/ubuntu-app:16.04", None),
        ("registry.example.com/team/cuda:stretched-7", None),
        ("ubuntu:1", None),
        ("alpine:3.20", None),
    ],
)
def test_glibc_version_of_old_distributions(image: str, version: tuple[int, int] | None) -> None:
    assert libc(image).glibc_version == version


def test_rows_of_the_user_come_first_and_are_certain() -> None:
    rows = (
        ("hub.example.com/ml/*-debug", "none"),
        ("hub.example.com/ml/*", "musl"),
        ("docker.io/library/traefik", "glibc"),
        ("alpine:3.2?", "unknown"),
    )
    assert libc("hub.example.com/ml/a:1-debug", rows).libc == "none"
    assert libc("hub.example.com/ml/a:1", rows) == Libc("musl", None, "high", "the configuration says so", loud=True)
    assert libc("traefik:v3.1", rows).is_harmless
    assert libc("alpine:3.20", rows).is_harmless
    assert libc("alpine:3.9", rows).libc == "musl"
    assert libc("caddy:2", rows).libc == "musl"


def test_mirrors_of_the_user_are_seen_through() -> None:
    assert libc("hub.example.com/cache/traefik:v3.1").libc == "unknown"
    assert libc("hub.example.com/cache/traefik:v3.1", (), ("hub.example.com/cache",)).libc == "musl"


@pytest.mark.parametrize(
    ("image", "variant"),
    [
        ("python:3.12-alpine", "python:3.12-slim"),
        ("python:3.12-alpine3.20", "python:3.12-slim"),
        ("docker.io/library/node:alpine", "docker.io/library/node:slim"),
        (f"python:3.12-alpine@{DIGEST}", "python:3.12-slim"),
        ("redis:7-alpine", "redis:7"),
        ("nginx:alpine", "nginx:latest"),
        ("eclipse-temurin:21-jre-alpine-3.20", "eclipse-temurin:21-jre"),
        ("mirror.gcr.io/library/redis:7-alpine", "mirror.gcr.io/library/redis:7"),
        ("nginx:1.27-alpine-slim", ""),
        ("alpine:3.20", ""),
        ("traefik:v3-alpine", ""),
        ("registry.example.com/team/serve:1.4-alpine", ""),
        ("$IMAGE", ""),
    ],
)
def test_glibc_variant_of_the_same_image(image: str, variant: str) -> None:
    assert glibc_variant(image) == variant


# The table


def lines() -> tuple[str, ...]:
    return table._index().lines


def test_every_row_is_whole_and_answers_for_itself() -> None:
    for line in lines():
        names, tags, name, libdl, why, changed, _, source = line.split("\t")
        re.compile(tags)
        assert name in {"musl", "glibc", "uclibc", "none", "unknown"}, line
        assert libdl in {"yes", "no", "unknown"}, line
        assert why, line
        assert source, line
        assert not changed or table._before(changed)
        for written in names.split(" "):
            ref = reference(written.replace("*", "x") + ":1")
            assert ref is not None, line
            assert ref.name == written.replace("*", "x")
            assert table._row(line) in table._rows(ref.name)


def test_no_reason_names_the_release_of_alpine_that_was_read() -> None:
    rows = [line.split("\t") for line in lines()]
    every = [libc(f"{names.split()[0]}:0.1") for names, tags, name, *_ in rows if name == "musl" and tags == ".*"]
    assert len(every) > 40
    assert not [each.why for each in every if re.search(r"on .*alpine[: ]?\d", each.why)]


def test_no_row_is_hidden_by_an_earlier_one_for_all_tags() -> None:
    hidden = {
        name for name, numbers in table._index().names.items() for row in table._rows(name)[:-1] if row.tags == ".*"
    }
    assert hidden == set()


# Anything may stand in a manifest


@given(st.text(max_size=80))
def test_any_text_gets_a_verdict(text: str) -> None:
    assert libc(text).libc in {"musl", "glibc", "uclibc", "none", "unknown"}
    glibc_variant(text)


PARTS = st.sampled_from(["alpine", "busybox", "glibc", "cuda", "ubuntu", "static", "slim", "3", "20", "musl", "team"])
JOINED = st.lists(st.tuples(PARTS, st.sampled_from(["-", ".", "_", ""])), min_size=1, max_size=5).map(
    lambda pairs: "".join(part + join for part, join in pairs).strip("-._") or "x"
)


@given(st.sampled_from(["alpine.example.com", "busybox.example.com:5000", "hub.example.com"]), JOINED, JOINED)
def test_host_and_folders_have_no_say(host: str, folder: str, tag: str) -> None:
    assert libc(f"{host}/{folder}/infer:{tag}") == libc(f"registry.example.com/x/infer:{tag}")


@given(JOINED, JOINED)
def test_full_name_and_short_name_agree(name: str, tag: str) -> None:
    assert libc(f"{name}:{tag}") == libc(f"docker.io/library/{name}:{tag}") == libc(f"index.docker.io/{name}:{tag}")


# Containers


def pod(
    image: str,
    limits: Mapping[str, object] = GPU,
    env: Mapping[str, str | None] | None = None,
    **fields: object,
) -> Pod:
    path = ("spec", "containers", 0)
    entries = tuple(
        Env(name, value, (*path, "env", number)) for number, (name, value) in enumerate((env or {}).items())
    )
    made = Container("main", image, "app", path, limits, env=entries)
    return Pod(Ref("v1", "Pod", "default", "p"), ("metadata",), ("spec",), **{"containers": (made,), **fields})  # type: ignore[arg-type]


def said(made: Pod, stack: Stack | None = None) -> list[tuple[str, Finding]]:
    rules = (musl_image, no_libdl_image, static_image, old_glibc_image)
    return [(rule.name, finding) for rule in rules for finding in rule.check(made, stack or Stack())]


@pytest.mark.parametrize(
    ("limits", "is_hooked"),
    [
        (GPU, True),
        ({"nvidia.com/gpumem": 2000}, True),
        ({"nvidia.com/gpucores": 10}, True),
        ({"nvidia.com/gpu": "1"}, True),
        (AMD, True),
        ({}, False),
        ({"cpu": 1}, False),
        ({"nvidia.com/gpu": 0}, False),
        ({"nvidia.com/gpu": "0", "nvidia.com/gpumem": 2000}, False),
        ({"nvidia.com/priority": 1}, False),
        ({"amd.com/gpu": 1}, False),
        ({"huawei.com/Ascend910B3": 1}, False),
    ],
)
def test_only_containers_that_get_hamis_library_are_judged(limits: Mapping[str, object], *, is_hooked: bool) -> None:
    assert bool(list(hooked(pod("alpine:3.20", limits), Stack()))) == is_hooked


def test_renamed_resources_are_known_from_the_stack() -> None:
    limits = {"nvidia.com/vgpu": 1}
    stack = Stack(vendors={"nvidia": Names(count=("nvidia.com/vgpu",))})
    assert not said(pod("python:3.12-alpine", limits))
    assert [name for name, _ in said(pod("python:3.12-alpine", limits), stack)] == ["musl-image"]
    assert not said(pod("alpine:3.20", {"x.com/gpu": 1}), Stack(vendors={"x": Names(count=("x.com/gpu",))}))


@pytest.mark.parametrize(
    "made",
    [
        pod("alpine:3.20", scheduler="volcano"),
        pod("alpine:3.20", finished=True),
        pod("alpine:3.20", annotations={"nvidia.com/vgpu-mode": "mig"}),
        pod("alpine:3.20", env={"CUDA_DISABLE_CONTROL": "true"}),
        pod("alpine:3.20", containers=(Container("debug", "alpine", "ephemeral", (), GPU),)),
        pod(""),
    ],
)
def test_left_alone(made: Pod) -> None:
    assert not said(made)


@pytest.mark.parametrize("value", ["yes", "on", "false", "", None])
def test_control_stays_on_where_go_does_not_read_true(value: str | None) -> None:
    assert said(pod("alpine:3.20", env={"CUDA_DISABLE_CONTROL": value}))


def test_musl_with_ld_preload_by_hand_dies_instead() -> None:
    env = {"CUDA_DISABLE_CONTROL": "true", "LD_PRELOAD": "/usr/local/vgpu/libvgpu.so"}
    [(name, finding)] = said(pod("python:3.12-alpine", env=env))
    assert name == "musl-image"
    assert "dlvsym: symbol not found" in finding.message
    assert finding.fix == "remove LD_PRELOAD, which HAMi does not need, and use python:3.12-slim"
    assert finding.related[0].place.path == ("spec", "containers", 0, "env", 1)
    [(_, other)] = said(pod("python:3.12-alpine", env={"LD_PRELOAD": "libjemalloc.so"}))
    assert "ld.so.preload" in other.message


def test_place_is_the_image() -> None:
    [(_, finding)] = said(pod("alpine"))
    assert finding.place.path == ("spec", "containers", 0, "image")
    assert finding.place.at == "value"


def test_soft_verdicts_are_notes_of_low_confidence() -> None:
    for image in ("adminer:4", "registry.example.com/tools/alpine-tools:1", "registry.example.com/tools/busybox"):
        [(_, finding)] = said(pod(image))
        assert finding.severity is Severity.INFO
        assert finding.confidence == "low"


def test_amd_speaks_of_its_own_mechanism_and_only_from_2_10_on() -> None:
    assert "LD_AUDIT" in said(pod("alpine", AMD))[0][1].message
    assert "AMD" in said(pod("busybox", AMD))[0][1].message
    assert "2.34" in said(pod("ubuntu:20.04", AMD))[0][1].message
    assert not said(pod("ubuntu:22.04", AMD))
    assert not said(pod("alpine", AMD), Stack(hami=(2, 9)))
    assert not said(pod("alpine", AMD), Stack(vendors={"nvidia": VENDORS["nvidia"]}))


def test_missing_libdl_depends_on_hamis_version() -> None:
    [(_, unknown)] = said(pod("busybox:1.36-glibc"))
    [(_, new)] = said(pod("busybox:1.36-glibc"), Stack(hami=(2, 10)))
    [(_, old)] = said(pod("busybox:1.36-glibc"), Stack(hami=(2, 9)))
    assert "from HAMi 2.10 on" in unknown.message
    assert "from HAMi" not in new.message
    assert new.severity is None
    assert "starts, but CUDA cannot load" in old.message
    assert (old.severity, old.confidence) == (Severity.INFO, "low")


def test_old_glibc_depends_on_hamis_version() -> None:
    assert "needs 2.17" in said(pod("centos:6"), Stack(hami=(2, 9)))[0][1].message
    assert not said(pod("centos:7"), Stack(hami=(2, 9)))
    assert "built on 2.28" in said(pod("centos:7"), Stack(hami=(2, 10)))[0][1].message
    assert not said(pod("ubuntu:18.04"))


def test_messages_fit_a_warning() -> None:
    for line in lines():
        names, tags, *_ = line.split("\t")
        image = names.split(" ")[0].replace("*", "x").removeprefix("docker.io/library/")
        made = pod(f"{image}:latest" if re.fullmatch(tags, "latest") else f"{image}:1-alpine")
        for _, finding in said(made):
            assert len(finding.message) <= 220, finding.message
            assert "\n" not in finding.message + finding.fix
            assert not finding.message.endswith(".")
