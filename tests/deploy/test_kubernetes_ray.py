"""The manifests of deploy/kubernetes/ray. No package has the schemas of KubeRay: the pods in them
are checked against Kubernetes' own, the rest as far as the kinds are documented."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
FOLDER = DEPLOY / "kubernetes/ray"
VERSIONS = ["1.30", "1.36"]
NOT_MANIFESTS = ("kustomization", "images")


def load(name: str) -> Any:
    (document,) = yaml.safe_load_all((FOLDER / name).read_text())
    return document


def templates() -> dict[str, Any]:
    """Every pod that KubeRay makes of them."""
    cluster = load("raycluster.yaml")["spec"]
    groups = {group["groupName"]: group["template"] for group in cluster["workerGroupSpecs"]}
    job = load("rayjob.yaml")["spec"]["submitterPodTemplate"]
    return {"head": cluster["headGroupSpec"]["template"], "submitter": job, **groups}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["head", "submitter", "trainers"])
def test_kubernetes_takes_the_pods(name: str, version: str) -> None:
    validate = pytest.importorskip(
        "kubernetes_validate", reason="the schemas are installed by make test-deploy"
    ).validate
    pod = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": name}}
    validate({**pod, "template": templates()[name]}, version, strict=True)


def test_the_kinds_have_what_kuberay_asks_for() -> None:
    cluster, job = load("raycluster.yaml"), load("rayjob.yaml")
    assert [cluster["apiVersion"], cluster["kind"]] == ["ray.io/v1", "RayCluster"]
    assert [job["apiVersion"], job["kind"]] == ["ray.io/v1", "RayJob"]
    groups = [cluster["spec"]["headGroupSpec"], *cluster["spec"]["workerGroupSpecs"]]
    assert all({"rayStartParams", "template"} <= group.keys() for group in groups)
    # The operator passes these on as command-line options, which are texts.
    params = [value for group in groups for value in group["rayStartParams"].values()]
    assert all(isinstance(value, str) for value in params)
    (workers,) = cluster["spec"]["workerGroupSpecs"]
    assert workers["minReplicas"] <= workers["replicas"] <= workers["maxReplicas"]
    assert job["spec"]["clusterSelector"] == {"ray.io/cluster": cluster["metadata"]["name"]}
    assert "rayClusterSpec" not in job["spec"]  # they exclude each other


def test_only_workers_get_a_daemon_and_they_have_room_for_its_batches() -> None:
    cluster = load("raycluster.yaml")["spec"]
    assert cluster["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    (container,) = templates()["trainers"]["spec"]["containers"]
    volumes = {volume["name"]: volume for volume in templates()["trainers"]["spec"]["volumes"]}
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    assert set(mounts.values()) == set(volumes)
    shm = volumes[mounts["/dev/shm"]]["emptyDir"]
    assert shm["medium"] == "Memory"
    memory = gibibytes(container["resources"]["limits"]["memory"])
    limit = re.search(r'"--shm-limit", "(\d+)G"', (FOLDER / "rayjob.yaml").read_text())
    copy = re.search(r'Daemons\("[^"]+", "(/[^/"]+)/', (FOLDER / "rayjob.yaml").read_text())
    assert limit is not None
    assert copy is not None
    assert copy[1] in mounts
    # Ray's objects take 30 % of the memory, and lie there too.
    assert 0.3 * memory + int(limit[1]) <= gibibytes(shm["sizeLimit"]) < memory


def gibibytes(text: str) -> int:
    assert text.endswith("Gi")
    return int(text[:-2])


def test_ray_is_the_version_that_is_tested_and_reports_to_nobody() -> None:
    pinned = (Path(__file__).parents[1] / "ray.txt").read_text()
    assert f"ray=={load('raycluster.yaml')['spec']['rayVersion']}\n" in pinned
    for name in ("head", "trainers"):
        (container,) = templates()[name]["spec"]["containers"]
        assert {"name": "RAY_USAGE_STATS_ENABLED", "value": "0"} in container["env"]


def test_all_run_without_privileges_as_one_user() -> None:
    uid = re.search(r"--uid (\d+)", (DEPLOY / "Dockerfile").read_text())
    assert uid is not None
    for template in templates().values():
        context = template["spec"]["securityContext"]
        assert (context["runAsUser"], context["runAsNonRoot"]) == (int(uid[1]), True)
        for container in template["spec"]["containers"]:
            assert container["securityContext"]["capabilities"]["drop"] == ["ALL"]
            assert container["securityContext"]["allowPrivilegeEscalation"] is False


def test_the_kustomization_has_every_manifest_and_finds_every_image() -> None:
    kustomization = load("kustomization.yaml")
    manifests = [path.name for path in FOLDER.glob("*.yaml") if path.stem not in NOT_MANIFESTS]
    assert sorted(kustomization["resources"]) == sorted(manifests)
    named = {image["name"] for image in kustomization["images"]}
    documents = {document["kind"]: document for document in map(load, manifests)}
    found = [
        image
        for place in load("images.yaml")["images"]
        for image in at(documents[place["kind"]], place["path"].split("/"))
    ]
    pods = [container for t in templates().values() for container in t["spec"]["containers"]]
    assert sorted(found) == sorted(container["image"] for container in pods)
    assert set(found) == named


def at(value: Any, path: list[str]) -> list[Any]:
    """What a path of kustomize leads to; lists stand for each of their items."""
    if isinstance(value, list):
        return [found for item in value for found in at(item, path)]
    return at(value[path[0]], path[1:]) if path else [value]
