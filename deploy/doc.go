// Package deploy holds the tests of the files beside it: manifests for Kubernetes, a Helm chart, a
// Kustomize component, compose files. Its only code is in pack, which makes what a release has
// beside binaries.
//
// The tests need helm, kustomize, kubeconform and compose-go's program, in the versions that the
// Makefile pins, so they have the build tag deploy, and make deploy starts them. They ask no
// cluster. The tests of kube do.
package deploy
