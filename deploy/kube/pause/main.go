// Holdpoint and the agent of a pod run in Linux namespaces that this process holds, as the pause
// container does in any cluster. It serves the scenes (tests) of deploy/kube, and does nothing
// until a signal ends it.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGINT, syscall.SIGTERM)
	<-end
}
