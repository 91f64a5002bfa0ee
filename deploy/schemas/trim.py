"""Writes the schemas of this folder from the packages that README.md names.

Usage: python3 trim.py KUBERNETES_VALIDATE ISTIO_API PROMETHEUS_OPERATOR GATEWAY_API KEDA CERT_MANAGER

The arguments are the unpacked package kubernetes-validate, and the folders of the Go modules.
Descriptions and the fields that only an API server reads are left out, references are put in place,
and properties that a schema does not have are refused.
"""

import json
import pathlib
import sys

import yaml

HERE = pathlib.Path(__file__).parent
VERSIONS = ["1.29.0", "1.37.0"]
KINDS = """clusterrole-rbac-v1 clusterrolebinding-rbac-v1 configmap-v1 deployment-apps-v1
horizontalpodautoscaler-autoscaling-v2 ingress-networking-v1 mutatingwebhookconfiguration-admissionregistration-v1
namespace-v1 networkpolicy-networking-v1 persistentvolumeclaim-v1 poddisruptionbudget-policy-v1 role-rbac-v1
rolebinding-rbac-v1 secret-v1 service-v1 serviceaccount-v1""".split()
# Since 1.30.
NEWER = """validatingadmissionpolicy-admissionregistration-v1 validatingadmissionpolicybinding-admissionregistration-v1""".split()
LEFT_OUT = {"description", "title", "example", "$id", "$schema", "format"}


def trim(node, definitions, named=False):
    """Named says that the keys are names of properties, which are never left out."""
    if isinstance(node, list):
        return [trim(n, definitions) for n in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return trim(definitions[node["$ref"].rsplit("/", 1)[1]], definitions)
    kept = {}
    for key, value in node.items():
        if not named and (key in LEFT_OUT or key.startswith("x-kubernetes-")):
            continue
        kept[key] = trim(value, definitions, not named and key == "properties")
    if not named and "properties" in kept:
        if node.get("x-kubernetes-preserve-unknown-fields") is not True:
            kept.setdefault("additionalProperties", False)
    return kept


def write(path, schema):
    path.parent.mkdir(exist_ok=True)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    path.write_text(json.dumps(schema, separators=(",", ":"), sort_keys=True) + "\n")


def kubernetes(package):
    for version in VERSIONS:
        folder = package / "kubernetes_validate/kubernetes-json-schema" / f"v{version}-local-strict"
        definitions = json.loads((folder / "_definitions.json").read_text())
        definitions = definitions.get("$defs") or definitions["definitions"]
        for kind in KINDS + [k for k in NEWER if (folder / f"{k}.json").exists()]:
            schema = trim(json.loads((folder / f"{kind}.json").read_text()), definitions)
            schema["properties"]["status"] = False  # nobody writes it into a manifest
            write(HERE / f"v{version}" / f"{kind}.json", schema)


def custom(path, wanted):
    """Wanted is the kinds to take from a file of CustomResourceDefinitions."""
    for crd in yaml.safe_load_all(path.read_text()):
        if not crd or crd["spec"]["names"]["kind"] not in wanted:
            continue
        for version in crd["spec"]["versions"]:
            schema = trim(version["schema"]["openAPIV3Schema"], {})
            schema["properties"] |= {
                "apiVersion": {"const": f"{crd['spec']['group']}/{version['name']}"},
                "kind": {"const": crd["spec"]["names"]["kind"]},
                "metadata": {"type": "object"},
                "status": False,
            }
            name = f"{crd['spec']['names']['singular']}-{crd['spec']['group'].split('.')[0]}-{version['name']}"
            write(HERE / "custom" / f"{name}.json", schema)


if __name__ == "__main__":
    validate, istio, operator, gateway, keda, certmanager = map(pathlib.Path, sys.argv[1:])
    kubernetes(validate)
    custom(istio / "kubernetes/customresourcedefinitions.gen.yaml", ["AuthorizationPolicy"])
    custom(operator / "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml", ["ServiceMonitor"])
    custom(operator / "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml", ["PrometheusRule"])
    custom(gateway / "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml", ["HTTPRoute"])
    custom(keda / "config/crd/bases/keda.sh_scaledobjects.yaml", ["ScaledObject"])
    custom(certmanager / "deploy/crds/cert-manager.io_certificates.yaml", ["Certificate"])
    custom(certmanager / "deploy/crds/cert-manager.io_issuers.yaml", ["Issuer"])
