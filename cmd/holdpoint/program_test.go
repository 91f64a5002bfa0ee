package main

import (
	"slices"
	"testing"
)

// A noting is a part of the program that has a Stop and no Start. Stop appends a line to the list
// that the field to points at.
type noting struct {
	name string
	to   *[]string
}

func (n noting) Stop() { *n.to = append(*n.to, "stop "+n.name) }

type starting struct{ noting }

func (s starting) Start() { *s.to = append(*s.to, "start "+s.name) }

// TestPartsAreStoppedInReverse: each part of the program that has a Start is started once. All
// parts are stopped in the reverse order.
func TestPartsAreStoppedInReverse(t *testing.T) {
	var did []string
	p := &program{}
	p.start(starting{noting{"audit", &did}})
	p.start(noting{"store", &did})
	p.start(starting{noting{"desk", &did}})
	p.stop()
	if want := []string{"start audit", "start desk", "stop desk", "stop store", "stop audit"}; !slices.Equal(did, want) {
		t.Errorf("%q, want %q", did, want)
	}
}
