package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// openRuns is the gauge of the open runs. It calls the functions that count them only when
// Prometheus reads the metrics, so it costs a run nothing.
type openRuns struct {
	desc *prometheus.Desc

	mu     sync.Mutex
	counts map[string][]func() int // the functions that RegisterOpenRuns registered for each agent
}

func newOpenRuns() *openRuns {
	return &openRuns{
		desc:   prometheus.NewDesc("holdpoint_runs_open", "Runs that are under way, with their streams: the load of a replica, and the number to scale by.", []string{"agent"}, nil),
		counts: map[string][]func() int{},
	}
}

// RegisterOpenRuns registers the function count, which returns how many runs of the agent are open.
// It may be called at any time, and by several goroutines at once.
func (m *Metrics) RegisterOpenRuns(agent string, count func() int) {
	m.open.mu.Lock()
	defer m.open.mu.Unlock()
	agent = knownOrOther(m.opts.Agents, agent)
	m.open.counts[agent] = append(m.open.counts[agent], count)
}

// Describe implements prometheus.Collector.
func (o *openRuns) Describe(to chan<- *prometheus.Desc) { to <- o.desc }

// Collect implements prometheus.Collector.
func (o *openRuns) Collect(to chan<- prometheus.Metric) {
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
