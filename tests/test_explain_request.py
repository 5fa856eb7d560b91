"""`gangcheck explain request`: what containers ask for and what HAMi reads of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from webhook.cli import gangcheck

MANIFEST = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      initContainers:
        - name: warm
          image: x
          resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 3k}}
      containers:
        - name: main
          image: x
          resources:
            limits: {nvidia.com/gpu: 2, nvidia.com/gpumem: 16Gi, nvidia.com/gpucores: 30, nvidia.com/priority: 1}
        - name: side
          image: x
          resources: {limits: {nvidia.com/gpu: 1}}
        - name: idle
          image: x
---
apiVersion: v1
kind: Pod
metadata: {name: dcu}
spec:
  schedulerName: volcano
  containers:
    - name: main
      image: x
      resources: {limits: {hygon.com/dcunum: 1, hygon.com/dcumem: 2000, hygon.com/dcucores: 60}}
---
apiVersion: v1
kind: Pod
metadata: {name: templated}
spec:
  containers:
    - name: main
      image: x
      resources: {limits: {nvidia.com/gpu: "${GPUS}"}}
---
apiVersion: v1
kind: Pod
metadata: {name: plain}
spec: {containers: [{name: main, image: x}]}
"""

UNKNOWN = """\
Job/train (job.yaml:10)
  container    asks for                                                read by         gets
  warm (init)  nvidia.com/gpu 1, gpumem 3000                           HAMi up to 2.8  nothing: the request is ignored
                                                                       HAMi from 2.9   1 x 3000 MiB
  main         nvidia.com/gpu 2, gpumem 16Gi, gpucores 30, priority 1  HAMi up to 2.9  no limit, 0 MiB booked
                                                                       HAMi from 2.10  nothing: the request is ignored
  side         nvidia.com/gpu 1                                        HAMi up to 2.6  1 card with all of its memory
                                                                       HAMi from 2.7   1 whole card
  nvidia: the Pod books 3 cards at once (HAMi up to 2.8)
  nvidia: the Pod books 4 cards at once (HAMi 2.9)
  nvidia: the Pod books 1 card at once (HAMi from 2.10)

Pod/dcu (job.yaml:30)
  its scheduler volcano is none that HAMi serves
  container  asks for                                      read by  gets
  main       hygon.com/dcunum 1, dcumem 2000, dcucores 60  HAMi     1 x 2000 MiB, 60 % of the cores

Pod/templated (job.yaml:39)
  container  asks for                read by  gets
  main       nvidia.com/gpu ${GPUS}           cannot be told
"""

KNOWN = """\
Job/train (job.yaml:10)
  container    asks for                                                read by    gets
  warm (init)  nvidia.com/gpu 1, gpumem 3000                           HAMi 2.10  1 x 3000 MiB
  main         nvidia.com/gpu 2, gpumem 16Gi, gpucores 30, priority 1  HAMi 2.10  nothing: the request is ignored
  side         nvidia.com/gpu 1                                        HAMi 2.10  1 whole card
  nvidia: the Pod books 1 card at once (HAMi 2.10)

Pod/dcu (job.yaml:30)
  its scheduler volcano is none that HAMi serves
  container  asks for                                      read by    gets
  main       hygon.com/dcunum 1, dcumem 2000, dcucores 60  HAMi 2.10  1 x 2000 MiB, 60 % of the cores

Pod/templated (job.yaml:39)
  container  asks for                read by  gets
  main       nvidia.com/gpu ${GPUS}           cannot be told
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "job.yaml").write_text(MANIFEST, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def explain(*arguments: str) -> Result:
    return CliRunner().invoke(gangcheck, ["explain", "request", *arguments], standalone_mode=False)


@pytest.mark.usefixtures("folder")
def test_an_unknown_release_shows_what_all_of_them_read() -> None:
    result = explain("job.yaml")
    assert result.return_value == 0
    assert result.stdout == UNKNOWN


@pytest.mark.usefixtures("folder")
def test_a_known_release_has_one_reading() -> None:
    result = explain("job.yaml", "--stack", "hami=2.10")
    assert result.stdout == KNOWN


@pytest.mark.usefixtures("folder")
def test_json() -> None:
    result = explain("job.yaml", "--format", "json", "--stack", "hami=2.9")
    told = json.loads(result.stdout)
    assert told["version"] == 1
    job, dcu, templated = told["pods"]
    assert job["object"] == {"apiVersion": "batch/v1", "kind": "Job", "namespace": "default", "name": "train"}
    assert [(each["container"], each["role"], each["line"]) for each in job["requests"]] == [
        ("warm", "init", 10),
        ("main", "app", 15),
        ("side", "app", 18),
    ]
    assert job["requests"][0]["asked"] == {"nvidia.com/gpu": "1", "nvidia.com/gpumem": "3000"}
    assert job["requests"][0]["readings"] == [
        {"by": "HAMi 2.9", "fate": "shared", "cards": 1, "memory": 3000, "percent": None, "cores": 0}
    ]
    assert job["totals"] == [{"family": "nvidia", "cards": 4, "memory": None, "by": "HAMi 2.9"}]
    assert (job["foreign"], dcu["foreign"]) == (None, "volcano")
    assert templated["requests"][0]["readings"] == []


@pytest.mark.usefixtures("folder")
def test_nothing_to_show(folder: Path) -> None:
    (folder / "plain.yaml").write_text(MANIFEST.rsplit("---\n", maxsplit=1)[-1], encoding="utf-8")
    result = explain("plain.yaml")
    assert (result.return_value, result.stdout) == (0, "No container asks for a GPU of HAMi's.\n")


def test_what_a_manifest_holds_is_shown_and_not_obeyed(folder: Path) -> None:
    text = MANIFEST.split("---\n")[1].replace("name: main", r'name: "a\eb"').replace("name: dcu", r'name: "p\eq"')
    (folder / "esc.yaml").write_text(text, encoding="utf-8")
    result = explain("esc.yaml")
    assert "\x1b" not in result.stdout
    assert r"a\x1bb" in result.stdout


@pytest.mark.usefixtures("folder")
def test_unsound_readings_stand_out_in_color() -> None:
    assert "\x1b[1;31mno limit, 0 MiB booked\x1b[0m" in explain("job.yaml", "--color", "always").stdout


def test_files_are_wanted(folder: Path) -> None:
    assert "give files or folders" in str(explain().exception)
    assert explain(str(folder / "absent.yaml")).return_value == 4


@pytest.mark.parametrize(
    ("metadata", "spec", "hami", "foreign"),
    [
        ("", "", "2.10", ""),
        ("", "schedulerName: hami-scheduler, ", "2.10", ""),
        ("", "schedulerName: hami-schedular, ", "2.10", "hami-schedular"),
        ("", "schedulerName: hami-schedular, ", "2.6", ""),
        ("", "schedulerName: '${SCHEDULER}', ", "2.10", ""),
        (", labels: {hami.io/webhook: ignore}", "", "2.10", "default-scheduler"),
    ],
)
def test_a_pod_that_hami_does_not_place_is_said_to_be_none_of_its(
    tmp_path: Path, metadata: str, spec: str, hami: str, foreign: str
) -> None:
    limits = "{limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 4000}}"
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(
        f"{{apiVersion: v1, kind: Pod, metadata: {{name: p{metadata}}},"
        f" spec: {{{spec}containers: [{{name: c, image: 'x:1', resources: {limits}}}]}}}}",
        encoding="utf-8",
    )
    told = CliRunner().invoke(
        gangcheck, ["explain", "request", "--no-config", "--stack", f"hami={hami}", str(manifest)]
    )
    assert told.exit_code == 0
    note = f"its scheduler {foreign} is none that HAMi serves"
    assert (note in told.output) if foreign else ("is none that HAMi serves" not in told.output)
