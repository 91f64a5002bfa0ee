// Package deploy contains tests of the files in this folder: manifests for Kubernetes, a Helm
// chart, a Kustomize component, compose files. Its only code is in pack, which makes the parts of a
// release besides binaries.
//
// The tests need helm, kustomize, kubeconform and the program of compose-go, in the versions that
// the Makefile pins, so they have the build tag deploy, and make deploy starts them. They need no
// cluster, except those in kube.
package deploy
