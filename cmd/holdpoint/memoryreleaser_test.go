package main

import "testing"

func TestCalm(t *testing.T) {
	var now activity
	released := 0
	c := &memoryReleaser{readActivity: func() activity { return now }, release: func() { released++ }}
	for n, step := range []struct {
		what      string
		collected uint64
		allocated uint64
		want      int // number of releases
	}{
		{"nothing happened", 0, 0, 0},
		{"little", 0, releaseThreshold, 0},
		{"a burst", 7, 100 << 20, 0},
		{"its end", 1, 1 << 20, 0},
		{"calm", 0, 1 << 10, 1},
		{"still: what was kept for use", 0, 1 << 10, 1},
		{"no more", 0, 1 << 10, 0},
		{"little by little", 0, releaseThreshold / 2, 0},
		{"little by little", 0, releaseThreshold / 2, 1},
		{"what was kept for use, but somebody works", 1, 1 << 10, 0},
		{"now", 0, 1 << 10, 1},
		{"no more", 0, 1 << 10, 0},
	} {
		now.collections += step.collected
		now.allocated += step.allocated
		before := released
		if c.tick(); released-before != step.want {
			t.Errorf("step %d, %s: %d releases, want %d", n, step.what, released-before, step.want)
		}
	}
	now.live = 1 << 30
	now.allocated += 100 << 20
	before := released
	if c.tick(); released != before {
		t.Error("a tenth of what is in use is not worth a collection")
	}
}

func TestActivityGrows(t *testing.T) {
	before := activityNow()
	kept := make([][]byte, 0, 64)
	for range 64 {
		kept = append(kept, make([]byte, 1<<20))
	}
	if after := activityNow(); after.allocated < before.allocated+uint64(len(kept)<<20) || after.live == 0 {
		t.Errorf("%+v, then %+v", before, after)
	}
}
