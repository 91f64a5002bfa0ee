package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// open is the gauge of the runs that are under way. It asks the handlers when the metrics are read,
// so it costs a run nothing.
type open struct {
	desc *prometheus.Desc

	mu     sync.Mutex
	counts map[string][]func() int // by agent
}

func newOpen() *open {
	return &open{
		desc:   prometheus.NewDesc("holdpoint_runs_open", "Runs that are under way, with their streams: the load of a replica, and the number to scale by.", []string{"agent"}, nil),
		counts: map[string][]func() int{},
	}
}

// Open registers count, which returns how many runs of the agent are under way. count is called at
// any time, by several goroutines.
func (m *Metrics) Open(agent string, count func() int) {
	m.open.mu.Lock()
	defer m.open.mu.Unlock()
	agent = knownOrOther(m.opts.Agents, agent)
	m.open.counts[agent] = append(m.open.counts[agent], count)
}

// Describe implements prometheus.Collector.
func (o *open) Describe(to chan<- *prometheus.Desc) { to <- o.desc }

// Collect implements prometheus.Collector.
func (o *open) Collect(to chan<- prometheus.Metric) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for agent, counts := range o.counts {
		sum := 0
		for _, count := range counts {
			sum += count()
		}
		to <- prometheus.MustNewConstMetric(o.desc, prometheus.GaugeValue, float64(sum), agent)
	}
}
