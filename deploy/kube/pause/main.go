// Holdpoint runs in namespaces that this process holds, as every pod in the scenes of deploy/kube.
// The process does nothing until it is ended.
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
