"""The manifests of deploy/kubernetes: valid, and in agreement with the image and each other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from graphzero.server.settings.config import make_config, parse_command_line

DEPLOY = Path(__file__).parents[2] / "deploy"
FOLDER = DEPLOY / "kubernetes"
MANIFESTS = sorted(path.name for path in FOLDER.glob("*.yaml") if path.stem != "kustomization")
# The oldest that is still supported by its makers or by the large clouds, and newer ones.
VERSIONS = ["1.30", "1.33", "1.36"]
SOCKET = "/run/graphzero/server.sock"


def load(name: str) -> Any:
    (document,) = yaml.safe_load_all((FOLDER / name).read_text())
    return document


def pod(name: str) -> Any:
    return load(name)["spec"]["template"]["spec"]


def mounts(container: Any) -> dict[str, str]:
    return {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", MANIFESTS)
def test_kubernetes_takes_the_manifest(name: str, version: str) -> None:
    validate = pytest.importorskip(
        "kubernetes_validate", reason="the schemas are installed by make test-deploy"
    ).validate
    validate(load(name), version, strict=True)


def test_the_schemas_refuse_what_they_should() -> None:
    kubernetes_validate = pytest.importorskip(
        "kubernetes_validate", reason="the schemas are installed by make test-deploy"
    )
    document = load("daemonset.yaml")
    document["spec"]["template"]["spec"]["containers"][0]["volumeMount"] = []
    with pytest.raises(kubernetes_validate.ValidationError, match="volumeMount"):
        kubernetes_validate.validate(document, VERSIONS[0], strict=True)


def test_the_kustomization_has_every_manifest_and_every_image() -> None:
    kustomization = load("kustomization.yaml")
    assert sorted(kustomization["resources"]) == MANIFESTS
    assert kustomization["namespace"] == load("namespace.yaml")["metadata"]["name"]
    used = {c["image"] for name in ("daemonset.yaml", "trainer.yaml") for c in containers(name)}
    assert {image["name"] for image in kustomization["images"]} == used


def containers(name: str) -> list[Any]:
    found = pod(name)
    return [*found.get("initContainers", []), *found["containers"]]


@pytest.mark.parametrize("name", ["daemonset.yaml", "trainer.yaml"])
def test_pods_are_found_by_their_labels_and_mount_what_they_declare(name: str) -> None:
    spec = load(name)["spec"]
    wanted = spec.get("selector", {}).get("matchLabels", {})
    assert wanted.items() <= spec["template"]["metadata"]["labels"].items()
    declared = {volume["name"] for volume in pod(name)["volumes"]}
    assert {mount for container in containers(name) for mount in mounts(container)} == declared


def test_daemon_and_trainer_share_the_socket_s_folder_and_shared_memory_of_one_node() -> None:
    def shared(name: str) -> dict[str, tuple[str, str]]:
        places = {v["name"]: v["hostPath"]["path"] for v in pod(name)["volumes"]}
        (main,) = pod(name)["containers"]
        return {n: (places[n], mounts(main)[n]) for n in ("socket", "shm")}

    assert shared("daemonset.yaml") == shared("trainer.yaml")
    assert shared("daemonset.yaml")["shm"] == ("/dev/shm", "/dev/shm")
    assert shared("daemonset.yaml")["socket"][1] == str(Path(SOCKET).parent)
    assert pod("daemonset.yaml")["nodeSelector"] == pod("trainer.yaml")["nodeSelector"]
    (trainer,) = pod("trainer.yaml")["containers"]
    assert {"name": "GRAPHZERO_ADDRESS", "value": f"unix:{SOCKET}"} in trainer["env"]


def test_both_run_as_the_image_s_user() -> None:
    uid = re.search(r"--uid (\d+)", (DEPLOY / "Dockerfile").read_text())
    assert uid is not None
    for name in ("daemonset.yaml", "trainer.yaml"):
        context = pod(name)["securityContext"]
        assert (context["runAsUser"], context["runAsNonRoot"]) == (int(uid[1]), True)
        for container in containers(name):
            own = container["securityContext"]
            assert own["capabilities"]["drop"] == ["ALL"]
            assert own["allowPrivilegeEscalation"] is False
    (prepare,) = pod("daemonset.yaml")["initContainers"]
    assert prepare["command"][prepare["command"].index("-o") + 1] == uid[1]


def test_the_daemon_s_variables_and_command_are_ones_that_it_has() -> None:
    (server,) = pod("daemonset.yaml")["containers"]
    variables = {one["name"]: one["value"] for one in server["env"]}
    found = re.search(r"ENTRYPOINT \[(.*)\]", (DEPLOY / "Dockerfile").read_text())
    assert found is not None
    command = re.findall(r'"([^"]*)"', found[1])
    config = parse_command_line(command[1:], variables)
    assert config.limits.shm_limit == 4 << 30
    assert str(config.data) == mounts(server)["data"]
    assert str(config.listen.socket) == SOCKET
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert server[probe]["exec"]["command"] == ["graphzero", "ping", SOCKET]
    drain = make_config({"data": "/data"}).life.drain_timeout_s
    assert pod("daemonset.yaml")["terminationGracePeriodSeconds"] > drain


def test_ranks_of_the_job_are_as_many_as_the_world() -> None:
    spec = load("trainer.yaml")["spec"]
    (trainer,) = pod("trainer.yaml")["containers"]
    world = next(one["value"] for one in trainer["env"] if one["name"] == "WORLD_SIZE")
    assert spec["completions"] == spec["parallelism"] == int(world)
    assert spec["completionMode"] == "Indexed"
