// Package kube contains the tests that need a real Kubernetes. They try the manifests, the chart
// and the commands of the documentation on one node, whose kubelet starts, probes, evicts and ends
// pods. The package has no code besides tests.
//
// The tests have the build tag kube, and `make kube` starts them. TestMain builds Kubernetes from
// the Go module proxy (testdata/hyperkube), and starts a node in Linux namespaces of its own
// (testdata/node). It runs the tests inside these namespaces, where Services and pods have
// addresses. The node has no registry and no connection to other networks. It ends with the test
// process, even if that process is killed. Nothing else on the machine is changed, except that
// missing Debian packages are installed.
//
// The subfolders contain the programs that run on the node: the agent of the scenes, a DNS server,
// and the process that holds a pod's namespaces.
package kube
