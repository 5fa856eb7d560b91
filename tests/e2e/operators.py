"""The operators' own CRDs, out of their Go modules: the schema that a cluster holds an example against."""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import apiserver
import build
import yaml
from apiserver import ControlPlane, Object


class Source(NamedTuple):
    """A Go module, and the file of a CRD in it."""

    module: str
    file: str


CRDS = {
    "JobSet": Source("sigs.k8s.io/jobset@v0.10.1", "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml"),
    "MPIJob": Source("github.com/kubeflow/mpi-operator@v0.6.0", "manifests/base/kubeflow.org_mpijobs.yaml"),
    "PyTorchJob": Source(
        "github.com/kubeflow/training-operator@v1.9.0", "manifests/base/crds/kubeflow.org_pytorchjobs.yaml"
    ),
    "RayCluster": Source(
        "github.com/ray-project/kuberay/ray-operator@v1.5.0", "config/crd/bases/ray.io_rayclusters.yaml"
    ),
    "Certificate": Source(
        "github.com/cert-manager/cert-manager@v1.19.1", "deploy/crds/cert-manager.io_certificates.yaml"
    ),
    "Issuer": Source("github.com/cert-manager/cert-manager@v1.19.1", "deploy/crds/cert-manager.io_issuers.yaml"),
}
"""The versions are those whose behaviour the rules state (their docstrings name them), and cert-manager's of 2025."""


def crd(kind: str) -> Object:
    """The CRD of a kind as its project ships it; fetched as any Go module is, and cached by Go."""
    source = CRDS[kind]
    command = [build.go(), "mod", "download", "-json", source.module]
    with tempfile.TemporaryDirectory() as nowhere:  # a module around it would be asked first
        done = subprocess.run(command, cwd=nowhere, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    text = Path(json.loads(done.stdout)["Dir"], source.file).read_text(encoding="utf-8")
    (found,) = (each for each in yaml.safe_load_all(text) if each)
    return dict(found)


def install(control: ControlPlane, kind: str) -> Object:
    """Makes the kind known to the API server; without conversion webhooks, since nobody would answer them."""
    found = crd(kind)
    found["spec"].pop("conversion", None)
    apiserver.apply_crd(control, found)
    return found
