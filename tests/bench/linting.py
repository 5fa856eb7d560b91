"""What a lint run costs, as ratios against PyYAML's CSafeLoader merely loading the same bytes in this very run.

Prints three lines: 5,000 Pods in one file, a tree of manifests most of which are no business of ours, and the
start-up of `gangcheck lint` on one small file against `python -c 'import yaml, click'`. The first two are CPU seconds
of whole processes, the third is wall time; each the best of several rounds. Machines differ, so read the ratios.
"""

from __future__ import annotations

import compileall
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from reading import pods

ROUNDS = 5
ROOT = Path(__file__).parents[2]
SMALL = ROOT / "manifests" / "examples" / "mended-gang.yaml"


LOAD = """
import sys, yaml
from pathlib import Path
for path in sorted(Path(sys.argv[1]).rglob("*.yaml")):
    for _ in yaml.load_all(path.read_bytes(), Loader=yaml.CSafeLoader):
        pass
"""


def cpu(command: list[str]) -> float:
    """CPU seconds of a whole process, its start included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=False, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(name: str, files: dict[str, str], aim: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for file, text in files.items():
            path = Path(folder, file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        lint = [sys.executable, "-m", "webhook", "lint", "--no-config", folder]
        load = [sys.executable, "-c", LOAD, folder]
        shown = subprocess.run(lint, check=False, capture_output=True, text=True).stdout.splitlines()[-1]
        rounds = [(cpu(lint), cpu(load)) for _ in range(ROUNDS)]
    ours, theirs = min(mine for mine, _ in rounds), min(other for _, other in rounds)
    size = sum(map(len, files.values())) / 1e6
    print(f"{name}, {size:.1f} MB: {ours / theirs:.2f} x CSafeLoader's load (aim {aim:.2f}), {shown}")


SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: {name}
  labels:
    app: {name}
spec:
  selector:
    app: {name}
  ports:
  - name: http
    port: 80
    targetPort: http
"""


def irrelevant(number: int, rng: random.Random) -> str:
    """One document of the kinds that fill a GitOps repository and hold no Pods."""
    name = f"app-{number}"
    kinds = (
        SERVICE.format(name=name),
        f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n"
        + "".join(f'  KEY_{i}: "{rng.getrandbits(64):x}"\n' for i in range(20)),
        f"apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: {name}\nrules:\n"
        + '- apiGroups: [""]\n  resources: [secrets, configmaps]\n  verbs: [get, list, watch]\n' * 4,
        f"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: {name}\nspec:\n  rules:\n"
        + "".join(
            f"  - host: {name}-{i}.example.com\n    http:\n      paths:\n      - path: /\n        pathType: Prefix\n"
            f"        backend:\n          service:\n            name: {name}\n            port: {{number: 80}}\n"
            for i in range(3)
        ),
        f"apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: {name}\nspec:\n  groups:\n"
        f"  - name: {name}\n    rules:\n"
        + "".join(
            f'    - alert: High{i}\n      expr: rate(http_requests_total{{job="{name}"}}[5m]) > {i}\n      for: 10m\n'
            for i in range(6)
        ),
    )
    return rng.choice(kinds)


def tree(files: int = 3000, seed: int = 11) -> dict[str, str]:
    """A repository: one file in ten holds Pods or workloads, the others none."""
    rng = random.Random(seed)
    relevant = pods(files // 5, seed=seed).split("\n---\n")
    made: dict[str, str] = {}
    for number in range(files):
        documents = [irrelevant(number, rng) for _ in range(rng.randint(1, 4))]
        if number % 10 == 0:
            documents[0] = relevant[number // 10]
        made[f"team-{number % 40}/app-{number}.yaml"] = "---\n".join(f"{text.rstrip()}\n" for text in documents)
    return made


def start_up() -> None:
    """Wall time, the best of many: a process's own CPU clock does not see what its start costs."""
    ours = [sys.executable, "-m", "webhook", "lint", str(SMALL)]
    floor = [sys.executable, "-c", "import yaml, click"]
    rounds = [(wall(ours), wall(floor)) for _ in range(20)]
    ratio = min(mine for mine, _ in rounds) / min(bare for _, bare in rounds)
    print(f"start-up: {ratio:.2f} x `import yaml, click` (aim 1.50)")


def wall(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    compileall.compile_dir(ROOT / "webhook", quiet=1)  # as an installed package is
    compare("5,000 Pods in one file", {"pods.yaml": pods(5000)}, aim=0.60)
    compare("a tree of 3,000 files", tree(), aim=0.30)
    start_up()


if __name__ == "__main__":
    main()
