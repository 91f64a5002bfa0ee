package main

import (
	"context"

	"holdpoint/internal/agui"
	"holdpoint/internal/observe/audit"
	"holdpoint/internal/observe/metrics"
	"holdpoint/store"
)

// newMetrics are the metrics of a process with the dialects of c.
func (c *config) newMetrics() *metrics.Metrics {
	var codes []string
	for _, code := range agui.Codes() {
		codes = append(codes, string(code))
	}
	return metrics.New(metrics.Options{Version: readBuild().Version, Dialects: c.dialects.Names(), Codes: codes, Agents: c.agentNames(), Head: c.auditHead})
}

// agentNames are the names of the agents that the process serves.
func (c *config) agentNames() []string {
	var names []string
	for _, a := range c.agents() {
		names = append(names, a.Name)
	}
	return names
}

// auditHead is the head of the audit, the zero Head without one.
func (c *config) auditHead() audit.Head {
	if c.audit == nil {
		return audit.Head{}
	}
	return c.audit.Head()
}

// watchWaiting keeps the metrics told of what waits until stop is closed.
func watchWaiting(m *metrics.Metrics, kept store.Store, stop <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go m.Watch(ctx, m.Store(kept))
	<-stop
}
