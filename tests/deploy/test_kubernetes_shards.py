"""The manifests of deploy/kubernetes/shards: valid, and in agreement with the daemon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from graphzero.server.settings.config import make_config, parse_command_line

DEPLOY = Path(__file__).parents[2] / "deploy"
FOLDER = DEPLOY / "kubernetes/shards"
VERSIONS = ["1.30", "1.33", "1.36"]


def load(name: str, folder: Path = FOLDER) -> Any:
    (document,) = yaml.safe_load_all((folder / name).read_text())
    return document


def pod() -> Any:
    return load("statefulset.yaml")["spec"]["template"]["spec"]


def server() -> Any:
    (container,) = pod()["containers"]
    return container


def mounts(container: Any) -> dict[str, str]:
    return {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["service.yaml", "statefulset.yaml", "trainer.yaml"])
def test_kubernetes_takes_the_manifest(name: str, version: str) -> None:
    validate = pytest.importorskip(
        "kubernetes_validate", reason="the schemas are installed by make test-deploy"
    ).validate
    validate(load(name), version, strict=True)


def test_the_service_is_headless_and_finds_the_pods_by_name_and_port() -> None:
    service, stateful = load("service.yaml"), load("statefulset.yaml")
    assert service["spec"]["clusterIP"] == "None"
    assert stateful["spec"]["serviceName"] == service["metadata"]["name"]
    labels = stateful["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    assert stateful["spec"]["selector"]["matchLabels"].items() <= labels.items()
    (port,), (named,) = service["spec"]["ports"], server()["ports"]
    assert (port["targetPort"], port["port"]) == (named["name"], named["containerPort"])


def test_the_daemon_takes_its_options_and_serves_the_part_of_its_pod() -> None:
    variables = {one["name"]: one["value"] for one in server()["env"] if "value" in one}
    (part,) = (one for one in server()["env"] if "valueFrom" in one)
    path = part["valueFrom"]["fieldRef"]["fieldPath"]
    assert path == "metadata.labels['apps.kubernetes.io/pod-index']"
    command = [word.replace(f"$({part['name']})", "1") for word in server()["command"]]
    config = parse_command_line(command[1:], variables)
    assert str(config.data) == f"{mounts(server())['data']}/part-1"
    (peer,) = config.peers.peers
    assert peer.host == load("service.yaml")["metadata"]["name"]
    (port,) = load("service.yaml")["spec"]["ports"]
    tcp = config.listen.tcp
    assert peer.port == tcp.address.port == port["port"]
    files = (tcp.tls.certificate, tcp.tls.key, tcp.token_file, config.peers.peer_root_certificate)
    assert {str(file.parent) for file in files} == {mounts(server())["secrets"]}
    drain = make_config({"data": "/data"}).life.drain_timeout_s
    assert pod()["terminationGracePeriodSeconds"] > drain


def test_the_part_is_fetched_to_where_it_is_served() -> None:
    fetch = next(one for one in pod()["initContainers"] if one["name"] == "data")
    command = server()["command"]
    assert fetch["command"][-1] == command[command.index("--data") + 1]
    assert mounts(fetch)["data"] == mounts(server())["data"]
    names = {one["name"] for one in fetch["env"]}
    assert {"PART", "SOURCE"} == names
    (claim,) = load("statefulset.yaml")["spec"]["volumeClaimTemplates"]
    declared = {volume["name"] for volume in pod()["volumes"]} | {claim["metadata"]["name"]}
    used = {name for one in (*pod()["initContainers"], server()) for name in mounts(one)}
    assert used == declared


def test_what_is_as_with_whole_copies_is_the_same_as_there() -> None:
    """User, shared memory, probes and limits, and inside the containers the socket."""
    daemonset = load("daemonset.yaml", FOLDER.parent)["spec"]["template"]["spec"]
    (whole,) = daemonset["containers"]
    for name in ("startupProbe", "readinessProbe", "livenessProbe", "securityContext"):
        assert server()[name] == whole[name]
    assert server()["resources"] == whole["resources"]
    assert pod()["securityContext"].items() >= daemonset["securityContext"].items()
    assert pod()["initContainers"][0] == daemonset["initContainers"][0]
    assert volumes(pod())["shm"] in daemonset["volumes"]
    for name in ("socket", "shm"):
        assert mounts(server())[name] == mounts(whole)[name]


def volumes(pod: Any) -> dict[str, Any]:
    return {volume["name"]: volume for volume in pod["volumes"]}


def test_daemons_of_parts_and_of_whole_copies_never_meet_on_a_node() -> None:
    """They would take each other's socket away."""
    daemonset = load("daemonset.yaml", FOLDER.parent)["spec"]["template"]["spec"]
    assert pod()["nodeSelector"].keys() == daemonset["nodeSelector"].keys()  # one value a node
    assert pod()["nodeSelector"] != daemonset["nodeSelector"]
    places = [volumes(each)["socket"]["hostPath"]["path"] for each in (pod(), daemonset)]
    assert len(set(places)) == 2


def test_the_trainer_is_that_of_whole_copies_beside_these_daemons() -> None:
    trainer, other = load("trainer.yaml"), load("trainer.yaml", FOLDER.parent)
    own = trainer["spec"]["template"]["spec"]
    assert own["nodeSelector"] == pod()["nodeSelector"]
    for name in ("socket", "shm"):
        assert volumes(own)[name]["hostPath"]["path"] == volumes(pod())[name]["hostPath"]["path"]
        assert mounts(own["containers"][0])[name] == mounts(server())[name]
    for name in ("nodeSelector", "volumes"):
        del own[name], other["spec"]["template"]["spec"][name]
    metadata = [each.pop("metadata") for each in (trainer, other)]
    metadata += [each["spec"]["template"].pop("metadata") for each in (trainer, other)]
    assert trainer == other
    names = {each["labels"]["app.kubernetes.io/name"] for each in metadata}
    assert names == {each["name"] for each in metadata[:2]}
    assert len(names) == 2  # both jobs may be in the namespace


def test_the_namespace_is_there_before_the_secret() -> None:
    """Neither folder makes it, so that `kubectl delete -k` of one leaves the other alone."""
    namespace = load("namespace.yaml", FOLDER.parent)["metadata"]["name"]
    make = "kubectl apply -f deploy/kubernetes/namespace.yaml"
    guide = (DEPLOY / "README.md").read_text()
    for folder in ("shards", "ray"):
        kustomization = FOLDER.with_name(folder) / "kustomization.yaml"
        assert yaml.safe_load(kustomization.read_text())["namespace"] == namespace
        for text in (kustomization.read_text(), guide.partition(f"**kubernetes/{folder}/**")[2]):
            assert 0 < text.index(make) < text.index(f"kubectl apply -k deploy/kubernetes/{folder}")
    shards = guide.partition("**kubernetes/shards/**")[2]
    assert shards.index(make) < shards.index(f"kubectl -n {namespace} create secret")


def test_one_pod_a_node() -> None:
    (rule,) = pod()["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert rule["topologyKey"] == "kubernetes.io/hostname"
    labels = load("statefulset.yaml")["spec"]["template"]["metadata"]["labels"]
    assert rule["labelSelector"]["matchLabels"].items() <= labels.items()


def test_the_kustomization_has_every_manifest_and_every_image() -> None:
    kustomization = load("kustomization.yaml")
    manifests = [path.name for path in FOLDER.glob("*.yaml") if path.stem != "kustomization"]
    assert sorted(kustomization["resources"]) == sorted(manifests)
    trainer = load("trainer.yaml")["spec"]["template"]["spec"]
    containers = (*pod()["initContainers"], server(), *trainer["containers"])
    used = {one["image"] for one in containers}
    assert {image["name"] for image in kustomization["images"]} == used
