package main

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	releaseInterval = 10 * time.Second
	// bytes allocated since the last release that make another release worthwhile
	releaseThreshold = 8 << 20
)

// A memoryReleaser returns memory to the operating system after a burst of runs. Go's collector
// starts when the heap has grown by as much as is in use, and the heap of an idle process does not
// grow. (Go forces a collection every two minutes, but even then it returns the memory slowly.)
// Without the releaser, a sidecar would hold the memory of a thousand ended streams for a long
// time.
type memoryReleaser struct {
	readActivity func() activity
	release      func()

	previous, atRelease activity
	releaseAgain        bool // release a second time, because pooled buffers outlive one collection
}

// An activity is a reading of the process's memory counters. The counters collections and allocated
// count from the start of the process.
type activity struct {
	collections uint64 // collections that Go's collector started by itself
	allocated   uint64 // bytes
	live        uint64 // bytes in use after the last collection
}

func newMemoryReleaser() *memoryReleaser {
	return &memoryReleaser{readActivity: activityNow, release: debug.FreeOSMemory}
}

// run calls tick every releaseInterval, until stop is closed.
func (c *memoryReleaser) run(stop <-chan struct{}) {
	c.atRelease = c.readActivity()
	c.previous = c.atRelease
	ticker := time.NewTicker(releaseInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.tick()
		case <-stop:
			return
		}
	}
}

// tick releases memory if no collection has run since the previous tick, and if enough was
// allocated since the last release. After such a release, the next tick without a collection
// releases memory a second time.
func (c *memoryReleaser) tick() {
	now := c.readActivity()
	busy := now.collections != c.previous.collections
	c.previous = now
	worth := now.allocated-c.atRelease.allocated > max(releaseThreshold, now.live/8)
	if busy || !worth && !c.releaseAgain {
		return
	}
	c.release()
	c.releaseAgain = worth
	c.atRelease = now
}

func activityNow() activity {
	s := []metrics.Sample{{Name: "/gc/cycles/automatic:gc-cycles"}, {Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return activity{s[0].Value.Uint64(), s[1].Value.Uint64(), s[2].Value.Uint64()}
}
