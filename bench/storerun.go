package main

import "holdpoint/bench/steps"

// storeRuns is the number of ordinary runs in each round.
const storeRuns = 300

// storeRun measures ordinary runs through a Holdpoint with each kind of store. Each thread gets
// many runs, as in a chat, so that its record already exists.
func (b *bench) storeRun() error {
	return b.withMachine("store-run", func(m *steps.Machine) error {
		inRedis, err := m.Redis(b.ctx, true, false)
		if err != nil {
			return err
		}
		inPostgres, err := m.Postgres().Side(b.ctx, "runs", true, false)
		if err != nil {
			return err
		}
		file, err := m.Folder()
		if err != nil {
			return err
		}
		var list []*target
		for _, of := range []struct{ name, address string }{
			{"memory", "memory://"}, {"memory again", "memory://"}, {"bolt", "bolt://" + file + "/state.db"},
			{"redis", inRedis.Address}, {"postgres", inPostgres.Address},
		} {
			t, err := b.startTarget(kind{name: "holdpoint " + of.name, form: formRewritten, start: holdpointStarterWith("HOLDPOINT_NAME=bench", "HOLDPOINT_STORE="+of.address)})
			if err != nil {
				return err
			}
			defer b.endTarget(t)
			list = append(list, t)
		}
		return b.plainRuns(list)
	})
}

func (b *bench) plainRuns(list []*target) error {
	cpus, half := map[string][]float64{}, map[string][]float64{}
	err := b.measureInRounds(b.rounds(15), list, func(t *target, counts bool) error {
		c := b.client(readBuffer)
		defer c.close()
		n := b.scaleCount(storeRuns, 1)
		var waits []float64
		cpu, err := b.cpuTimeOf(t, func() error {
			for range n {
				r, err := c.stream(b.ctx, t, order{script: "short"}, "", nil)
				if err != nil {
					return err
				}
				waits = append(waits, float64(r.firstByteTime.Nanoseconds())/1e3)
			}
			return nil
		})
		if err == nil && counts {
			half[t.name] = append(half[t.name], quantile(waits, 0.5))
			cpus[t.name] = append(cpus[t.name], float64(cpu.Nanoseconds())/1e3/float64(n))
		}
		return err
	})
	if err != nil {
		return err
	}
	b.report.title("Plain runs with each store: runs of %d frames, one after the other", 5)
	const others = "holdpoint memory"
	var rows [][]string
	for _, t := range list {
		rows = append(rows, []string{t.name, spread(cpus[t.name]), spread(ratios(cpus[t.name], cpus[others])), spread(half[t.name]), spread(ratios(half[t.name], half[others]))})
	}
	b.report.table([]string{"", "CPU µs / run", "× memory", "first byte, p50 µs", "× memory"}, rows)
	return nil
}
