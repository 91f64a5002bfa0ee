package main

import (
	"fmt"
	"strings"
)

// cycles measures pauses and resumes. For comparison, it measures as many ordinary runs with
// another process of the same binary. The difference is the cost of the contract. The backend asks
// first by AG-UI's outcome, and then in the way of LangGraph.
func (b *bench) cycles(threads, each int) error {
	for _, k := range proxies(false) {
		if k.form != formRewritten || !b.selectsKind(k) {
			continue
		}
		for _, asking := range []string{"ask", "ask-graph"} {
			if err := b.measureCycles(k, asking, threads, b.scaleCount(each, 1)); err != nil {
				return err
			}
		}
	}
	return nil
}

// measureCycles measures the cycles with one way of asking. asking is the name of a script.
func (b *bench) measureCycles(k kind, asking string, threads, each int) error {
	total := float64(each * threads)
	var plain, cycle, early, late []float64
	for range b.rounds(3) {
		err := b.withNewTarget(k, func(t *target) error {
			cost, _, err := b.repeatOnThreads(t, threads, each, func(c *client, thread string) error {
				return c.runTwice(b, t, thread)
			})
			plain = append(plain, cost/total)
			return err
		})
		if err != nil {
			return err
		}
		err = b.withNewTarget(k, func(t *target) error {
			cost, memory, err := b.repeatOnThreads(t, threads, each, func(c *client, thread string) error {
				return c.pauseAndResume(b, t, thread, asking)
			})
			cycle, early, late = append(cycle, cost/total), append(early, memory[0]), append(late, memory[1])
			return err
		})
		if err != nil {
			return err
		}
	}
	ratio := ratios(cycle, plain)
	b.report.title("Cycles: %s, %d × %d pauses and resumes (%s)", k.name, threads, each, asking)
	b.report.table([]string{"", "µs CPU"}, [][]string{{"two plain runs", spread(plain)}, {"a pause and a resume", spread(cycle)}, {"ratio", spread(ratio)}})
	b.report.line("\nMemory: %s MiB after a fifth, %s MiB at the end.", short3(median(early)), short3(median(late)))
	b.report.atMost(9, median(ratio), 1.5, "cycles (%s, %d × %d): CPU, × two plain runs", asking, threads, each)
	b.report.atMost(9, median(late)/median(early), 1.2, "cycles (%s, %d × %d): memory at the end, × after a fifth", asking, threads, each)
	return nil
}

// repeatOnThreads calls do each times on each of the threads. It returns the CPU time of all calls
// in µs. It also returns the memory in MiB, first after a fifth of the calls and then at the end.
func (b *bench) repeatOnThreads(t *target, threads, each int, do func(c *client, thread string) error) (cost float64, memory [2]float64, err error) {
	c := b.client(4 << 10)
	defer c.close()
	if _, err := b.warmUp(t); err != nil {
		return 0, memory, err
	}
	times := func(n int) error {
		return runConcurrently(threads, func(thread int) error {
			for range n {
				if err := do(c, fmt.Sprintf("thread-of-%d", thread)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for part, n := range []int{max(each/5, 1), each - max(each/5, 1)} {
		spent, err := b.cpuTimeOf(t, func() error { return times(n) })
		if err != nil {
			return 0, memory, err
		}
		cost += float64(spent.Microseconds())
		now, _, err := t.process.memory()
		if err != nil {
			return 0, memory, err
		}
		memory[part] = float64(now) / mb
	}
	return cost, memory, nil
}

// runTwice sends two ordinary runs of the same thread.
func (c *client) runTwice(b *bench, t *target, thread string) error {
	for range 2 {
		if _, err := c.stream(b.ctx, t, order{script: "short", route: "cycle", thread: thread}, "", nil); err != nil {
			return err
		}
	}
	return nil
}

// pauseAndResume sends a run that pauses, and then the run with the answer.
func (c *client) pauseAndResume(b *bench, t *target, thread, asking string) error {
	r, err := c.stream(b.ctx, t, order{script: asking, route: "cycle", thread: thread}, "", nil)
	if err != nil {
		return err
	}
	ids, err := interruptIDs(r.pauseEnd)
	if err != nil {
		return err
	}
	var answers []string
	for _, id := range ids {
		answers = append(answers, fmt.Sprintf(`{"interruptId":"%s","status":"resolved","payload":{"approved":true}}`, id))
	}
	_, err = c.stream(b.ctx, t, order{script: "short", route: "cycle", thread: thread, message: r.run}, `,"resume":[`+strings.Join(answers, ",")+`]`, nil)
	return err
}
