"""What a lint run costs, as ratios against PyYAML's CSafeLoader merely loading the same bytes in this very run.

Prints three lines: 5,000 Pods in one file, a tree of manifests most of which are no business of ours, and the
start-up of `gangcheck lint` on one small file against `python -c 'import yaml, click'`. Times are CPU seconds
of the process, the best of several rounds; machines differ, so read the ratios.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import yaml
from reading import pods

from webhook.config import Config
from webhook.lint import run
from webhook.result import Result
from webhook.rules import all_rules

ROUNDS = 5
SMALL = Path(__file__).parents[2] / "manifests" / "examples" / "mended-gang.yaml"


def cpu(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """CPU seconds of the fastest round."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def load(texts: list[bytes]) -> None:
    for text in texts:
        for _ in yaml.load_all(text, Loader=yaml.CSafeLoader):
            pass


def lint(folder: Path) -> Result:
    return run([str(folder)], Config(), rules=all_rules())


def compare(name: str, files: dict[str, str], aim: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for file, text in files.items():
            path = Path(folder, file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        texts = [text.encode() for text in files.values()]
        result = lint(Path(folder))
        ours, theirs = cpu(lambda: lint(Path(folder))), cpu(lambda: load(texts))
    size = sum(map(len, texts)) / 1e6
    counts = result.summary
    print(
        f"{name}: {ours / theirs:.2f} x CSafeLoader's load (aim {aim:.2f}); {ours:.2f} s against {theirs:.2f} s, "
        f"{size:.1f} MB, {counts.files} files, {counts.documents} documents, {len(result.findings)} findings"
    )


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
    compare("5,000 Pods in one file", {"pods.yaml": pods(5000)}, aim=0.60)
    compare("a tree of 3,000 files", tree(), aim=0.30)
    start_up()


if __name__ == "__main__":
    main()
