package main

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	calmLook  = 10 * time.Second
	calmWorth = 8 << 20 // bytes that must have been allocated since memory was given back last
)

// A memoryReleaser gives memory back to the system when a burst is over. Go's collector runs when
// as much was allocated again as is in use. In a process with little to do that is never. (It is
// forced every two minutes, and gives back slowly even then.) A thousand streams that ended, or a
// thousand megabytes that went through, would stay in a sidecar's memory for long.
type memoryReleaser struct {
	look    func() activity
	release func()

	last, released activity
	again          bool // buffers for further use outlive one collection
}

// An activity is what the process has done since it was started.
type activity struct {
	collections uint64 // that the collector began by itself
	allocated   uint64 // bytes
	live        uint64 // bytes that the last collection left
}

func newCalm() *memoryReleaser {
	return &memoryReleaser{look: activityNow, release: debug.FreeOSMemory}
}

// run looks every now and then, until stop is closed.
func (c *memoryReleaser) run(stop <-chan struct{}) {
	c.released = c.look()
	c.last = c.released
	ticker := time.NewTicker(calmLook)
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

// tick gives memory back if nothing was collected since the last look and there may be something to
// collect.
func (c *memoryReleaser) tick() {
	now := c.look()
	busy := now.collections != c.last.collections
	c.last = now
	worth := now.allocated-c.released.allocated > max(calmWorth, now.live/8)
	if busy || !worth && !c.again {
		return
	}
	c.release()
	c.again = worth
	c.released = now
}

func activityNow() activity {
	s := []metrics.Sample{{Name: "/gc/cycles/automatic:gc-cycles"}, {Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return activity{s[0].Value.Uint64(), s[1].Value.Uint64(), s[2].Value.Uint64()}
}
