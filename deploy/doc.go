// Package deploy contains tests of the files in this folder: manifests for Kubernetes, a Helm
// chart, a Kustomize component and compose files. Apart from the tests and their helpers, there is
// only the program in the folder pack. It makes the parts of a release that are not binaries.
//
// The tests need helm, kustomize, kubeconform and a program made from compose-go, in the versions
// that the Makefile pins. So they have the build tag deploy, and `make deploy` starts them. Only
// the tests in the folder kube need a cluster.
package deploy
