"""The kustomization that the README shows, and the policy of one's own over it, are taken as they stand there."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from apiserver import ControlPlane, Object, kubectl
from installation import MANIFESTS

README = (MANIFESTS.parent / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```yaml\n# (at the end of )?(my-gangcheck/[\w.]+)[^\n]*\n(.*?)```", re.DOTALL)
REGISTRATION = ("registration", "--regime", "warn-only", "--exclude-namespace", "gpu-system")


def written(folder: Path, *, own_policy: bool) -> Path:
    """The README's blocks as files, beside a copy of the manifests."""
    shutil.copytree(MANIFESTS, folder / "manifests")
    mine = folder / "my-gangcheck"
    mine.mkdir()
    for match in BLOCK.finditer(README):
        if not own_policy and (match[1] or match[2] != "my-gangcheck/kustomization.yaml"):
            continue
        with (folder / match[2]).open("a", encoding="utf-8") as file:
            file.write(match[3])
    return mine


def built(control: ControlPlane, mine: Path) -> dict[tuple[str, str], Object]:
    done = kubectl(control, "kustomize", str(mine))
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(done.stdout)}


def excluded(configuration: Object) -> set[str]:
    """The namespaces that none of its webhooks is called for."""
    return set.intersection(
        *(
            {name for term in hook["namespaceSelector"]["matchExpressions"] for name in term["values"]}
            for hook in configuration["webhooks"]
        )
    )


def test_a_policy_of_ones_own_changes_what_it_says_and_no_more(control: ControlPlane, tmp_path: Path) -> None:
    plain = built(control, written(tmp_path / "plain", own_policy=False))
    mine = written(tmp_path / "own", own_policy=True)
    command = [sys.executable, "-m", "webhook", *REGISTRATION, "--config", str(mine / "policy.yaml")]
    with (mine / "registration.yaml").open("wb") as output:
        subprocess.run(command, stdout=output, check=True, cwd=MANIFESTS.parent)
    own = built(control, mine)
    assert own.keys() == plain.keys()
    changed = {key for key in own if own[key] != plain[key]}
    configurations = {key for key in own if key[0].endswith("WebhookConfiguration")}
    assert len(configurations) == 2
    assert changed == {*configurations, ("ConfigMap", "gangcheck-policy")}
    for key in configurations:
        assert [hook["name"] for hook in own[key]["webhooks"]] == [hook["name"] for hook in plain[key]["webhooks"]]
        assert {"gpu-system", "kube-system"} <= excluded(own[key])
        assert "hami-system" not in excluded(own[key])
    policy = own["ConfigMap", "gangcheck-policy"]["data"]["policy.yaml"]
    assert yaml.safe_load(policy) == yaml.safe_load((mine / "policy.yaml").read_text(encoding="utf-8"))


def test_the_image_is_the_one_that_was_pushed(control: ControlPlane, tmp_path: Path) -> None:
    deployment = built(control, written(tmp_path / "plain", own_policy=False))["Deployment", "gangcheck"]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    assert f"--tag {container['image']} . && docker push {container['image']}" in README
