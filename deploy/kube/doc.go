// Package kube contains the tests that need a real Kubernetes: the manifests, the chart and the
// commands of the documentation on one node, with a kubelet that starts, probes, evicts and ends
// pods. It has no code besides tests.
//
// The tests have the build tag kube, and make kube starts them. TestMain builds Kubernetes from the
// Go module proxy (testdata/hyperkube), starts a node in namespaces of its own (testdata/node), and
// runs the tests inside them, where Services and pods have addresses. The node has no registry and
// no uplink. It ends with the test process, even if that is killed. Outside of these namespaces the
// machine is not changed, except that missing Debian packages are installed.
//
// The subfolders have the programs that run on the node: the agent of the scenes, a DNS server, and
// the process that holds a pod's namespaces.
package kube
