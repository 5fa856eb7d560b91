"""What reading costs: `python tests/bench/reading.py`. CPU time, least of three rounds, beside CSafeLoader.

Every Pod is drawn from twenty shapes, with a fixed seed: block and flow style, quotes, comments, block scalars, long
environments, several containers. All of them are members of gangs, so that no document can be left unread. One Pod in
a hundred has a musl image, so that a run has findings to place.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path as File

import yaml

sys.path.insert(0, str(File(__file__).resolve().parents[2]))

from webhook.manifest import cut, exact, quick, read

IMAGES = (
    "nvcr.io/nvidia/pytorch:24.05-py3",
    "registry.example.com/team/train:1.8.2",
    "ubuntu:22.04",
    "ghcr.io/org/llm-serve@sha256:" + "ab" * 32,
    "tensorflow/tensorflow:2.15.0-gpu",
    "python:3.11-slim",
)
MISTAKES = 0.01
WORDS = ("train", "eval", "serve", "ingest", "shard", "rank", "worker", "tuner", "bert", "gpt", "resnet", "vit")
ENV = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "NCCL_DEBUG", "RANK", "OMP_NUM_THREADS", "HF_HOME", "LOG_LEVEL")


def pods(count: int = 5000, seed: int = 7) -> str:
    """One stream of `count` Pods in gangs of eight, each gang with its PodGroup before it."""
    draw = random.Random(seed)
    documents = []
    for number in range(count):
        gang = number // 8
        if number % 8 == 0:
            documents.append(_group(gang, min(8, count - number)))
        documents.append(_pod(draw, number, gang))
    return "---\n".join(documents)


def _image(draw: random.Random) -> str:
    return "alpine:3.19" if draw.random() < MISTAKES else draw.choice(IMAGES)


def _group(gang: int, members: int) -> str:
    return (
        "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata:\n"
        f"  name: gang-{gang}\n  namespace: team-{gang % 9}\nspec:\n  minMember: {members}\n"
        "  scheduleTimeoutSeconds: 30\n"
    )


def _pod(draw: random.Random, number: int, gang: int) -> str:
    shape = draw.randrange(20)
    name = f"{draw.choice(WORDS)}-{draw.choice(WORDS)}-{number}"
    containers = "".join(_container(draw, shape, index) for index in range(1 + shape % 3 // 2))
    return _metadata(draw, shape, name, gang) + _spec(draw, shape, gang) + containers + _tail(draw, shape)


def _metadata(draw: random.Random, shape: int, name: str, gang: int) -> str:
    group = f'"gang-{gang}"' if shape % 4 == 1 else f"gang-{gang}"
    head = "apiVersion: v1\nkind: Pod\nmetadata:\n"
    if shape % 5 == 4:
        head = f"# {name}: made by the team's generator\n" + head
    labels = f"scheduling.x-k8s.io/pod-group: {group}"
    if shape in (3, 11):
        text = (
            f"{head}  name: {name}\n  namespace: team-{gang % 9}\n  labels: {{{labels}, app: {draw.choice(WORDS)}}}\n"
        )
    else:
        text = (
            f"{head}  name: {name}\n  namespace: team-{gang % 9}\n  labels:\n    app.kubernetes.io/name: "
            f'{draw.choice(WORDS)}\n    app.kubernetes.io/version: "{draw.randrange(9)}.{draw.randrange(30)}"\n'
            f"    {labels}\n"
        )
    if shape % 3 == 0:
        text += (
            f"  annotations:\n    team.example.com/owner: {draw.choice(WORDS)}@example.com\n"
            f"    team.example.com/run: 'run {draw.randrange(10**6)}'\n"
        )
    return text


def _spec(draw: random.Random, shape: int, gang: int) -> str:
    text = "spec:\n  schedulerName: hami-scheduler\n"
    if shape % 2:
        text += f"  restartPolicy: {draw.choice(('Never', 'OnFailure'))}\n"
    if shape % 6 == 2:
        text += "  nodeSelector:\n    gpu: 'on'   # a label's value is text\n"
    if shape % 7 == 3:
        text += "  tolerations:\n    - key: nvidia.com/gpu\n      operator: Exists\n      effect: NoSchedule\n"
    if gang % 4 == 2:
        text += "  priorityClassName: batch\n"
    if shape % 4 == 2:
        text += "  terminationGracePeriodSeconds: 60\n"
    return text + "  containers:\n"


def _container(draw: random.Random, shape: int, index: int) -> str:
    pad = "  " if shape % 2 else "    "
    text = f"{pad}- name: {draw.choice(WORDS)}{index}\n"
    inner = pad + "  "
    image = _image(draw)
    text += f'{inner}image: "{image}"\n' if shape % 5 == 1 else f"{inner}image: {image}\n"
    text += _command(draw, shape, inner) + _env(draw, shape, inner) + _resources(draw, shape, inner)
    if shape % 4 == 3:
        text += f"{inner}volumeMounts:\n{inner}- name: data\n{inner}  mountPath: /data\n{inner}  readOnly: true\n"
    if shape % 5 == 2:
        text += f"{inner}ports:\n{inner}- containerPort: {draw.randrange(1024, 9999)}\n{inner}  protocol: TCP\n"
    return text


def _command(draw: random.Random, shape: int, inner: str) -> str:
    epochs = draw.randrange(100)
    if shape % 5 == 0:
        return (
            f"{inner}command:\n{inner}- bash\n{inner}- -c\n{inner}- |\n{inner}  set -euo pipefail\n"
            f"{inner}  # warm the cache\n\n{inner}  python train.py --epochs {epochs} \\\n{inner}    --data /data\n"
        )
    if shape % 5 == 1:
        return f'{inner}command: ["python", "-m", "train", "--epochs", "{epochs}"]\n'
    if shape % 5 == 2:
        return f"{inner}command:\n{inner}  - python\n{inner}args:\n{inner}  - train.py\n{inner}  - --epochs={epochs}\n"
    if shape % 5 == 3:
        return f"{inner}command: [sleep, infinity]\n{inner}imagePullPolicy: IfNotPresent\n"
    return ""


def _env(draw: random.Random, shape: int, inner: str) -> str:
    if shape % 3 == 1:
        return ""
    text = f"{inner}env:\n"
    for name in draw.sample(ENV, 1 + shape % 4):
        value = draw.choice((f'"{draw.randrange(9999)}"', draw.choice(WORDS), f"'{draw.choice(WORDS)}'", "/mnt/cache"))
        text += f"{inner}- name: {name}\n{inner}  value: {value}\n"
    if shape % 6 == 5:
        text += f"{inner}- name: POD_NAME\n{inner}  valueFrom:\n"
        text += f"{inner}    fieldRef:\n{inner}      fieldPath: metadata.name\n"
    return text


def _resources(draw: random.Random, shape: int, inner: str) -> str:
    memory, cores = draw.randrange(1000, 24000), draw.randrange(10, 100)
    if shape % 4 == 0:
        return f"{inner}resources: {{limits: {{nvidia.com/gpu: 1, nvidia.com/gpumem: {memory}}}}}\n"
    if shape % 4 == 1:
        return f'{inner}resources:\n{inner}  limits: {{ nvidia.com/gpu: 1, cpu: "4" }}\n'
    text = (
        f"{inner}resources:\n{inner}  limits:\n{inner}    nvidia.com/gpu: {draw.randrange(1, 5)}\n"
        f"{inner}    nvidia.com/gpumem: {memory}  # MiB\n"
        f"{inner}    nvidia.com/gpucores: {cores}\n{inner}    memory: 16Gi\n"
    )
    return text + (f"{inner}  requests:\n{inner}    cpu: 500m\n{inner}    memory: 8Gi\n" if shape % 4 == 2 else "")


def _tail(draw: random.Random, shape: int) -> str:
    if shape % 4 != 3:
        return ""
    return f"  volumes:\n  - name: data\n    persistentVolumeClaim:\n      claimName: {draw.choice(WORDS)}-data\n"


def _cpu(works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The least seconds of this process for each, of three rounds: in turns, so that a busy machine hits all."""
    least = dict.fromkeys(works, float("inf"))
    for _ in range(3):
        for name, work in works.items():
            begin = time.process_time()
            work()
            least[name] = min(least[name], time.process_time() - begin)
    return least


def _load(data: bytes) -> None:
    for _document in yaml.load_all(data, Loader=yaml.CSafeLoader):
        pass


def _blocks(data: bytes) -> list[bytes]:
    return [data[start : start + 65536] for start in range(0, len(data), 65536)]


def main() -> None:
    data = pods().encode()
    chunks = list(cut(_blocks(data)))
    texts = [chunk.data.decode() for chunk in chunks]
    given_up = sum(quick.load(text) is quick.GIVE_UP for text in texts)
    print(f"{len(data) / 1e6:.2f} MB, {len(chunks)} documents, {data.count(10)} lines, quick gives up on {given_up}")
    costs = _cpu(
        {
            "CSafeLoader": lambda: _load(data),
            "cut": lambda: sum(1 for _ in cut(_blocks(data))),
            "quick": lambda: [None for text in texts if quick.load(text) is None],
            "exact": lambda: [None for text in texts if exact.build(text) is None],
            "read": lambda: [None for chunk in chunks if not read(chunk)],
            "cut and read": lambda: [None for chunk in cut(_blocks(data)) if not read(chunk)],
        }
    )
    for name, cost in costs.items():
        print(f"{name:14} {cost:6.3f} s  {cost / costs['CSafeLoader']:.2f}")


if __name__ == "__main__":
    main()
