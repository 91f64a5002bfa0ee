package main

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestQuantiles(t *testing.T) {
	for _, c := range []struct {
		list  []float64
		share float64
		want  float64
	}{
		{[]float64{3}, 0.5, 3},
		{[]float64{9, 1, 5}, 0.5, 5},
		{[]float64{4, 1, 3, 2}, 0.5, 2.5},
		{[]float64{5, 4, 3, 2, 1}, 0, 1},
		{[]float64{5, 4, 3, 2, 1}, 1, 5},
		{[]float64{0, 10}, 0.99, 9.9},
	} {
		if got := quantile(c.list, c.share); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v at %v: %v, want %v", c.list, c.share, got, c.want)
		}
	}
	list := []float64{3, 1, 2}
	if median(list); fmt.Sprint(list) != "[3 1 2]" {
		t.Errorf("the list was sorted: %v", list)
	}
	if !math.IsNaN(median(nil)) {
		t.Error("nothing has a median")
	}
}

func TestRatiosAreOfTheSameRound(t *testing.T) {
	if got := ratios([]float64{2, 30, 4}, []float64{1, 10, 8}); fmt.Sprint(got) != "[2 3 0.5]" {
		t.Error(got)
	}
	if got := ratios([]float64{2}, nil); got != nil {
		t.Errorf("%v of a target that was not measured", got)
	}
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00", 1.2345: "1.23", 12.345: "12.3", 123.45: "123", 12345: "12345", 0.012345: "0.0123", -1.5: "-1.50"} {
		if got := short3(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	if got := spread([]float64{3, 1, 2}); got != "2.00 [1.00–3.00]" {
		t.Error(got)
	}
	if got := spread(nil); got != "–" {
		t.Error(got)
	}
}

func TestBars(t *testing.T) {
	bars := []bar{{"reverseproxy", 1.02}, {"reverseproxy-32k", 0.8}}
	measured := func(own, plain, large float64) rates {
		return rates{"holdpoint": {frames: []float64{own}}, "reverseproxy": {frames: []float64{plain}}, "reverseproxy-32k": {frames: []float64{large}}}
	}
	for name, c := range map[string]struct {
		got  rates
		want int
	}{
		"fast":         {measured(6, 5, 7), 0},
		"on the bar":   {measured(1.02, 1, 1), 0},
		"too slow":     {measured(4.9, 5, 6), 1},
		"far too slow": {measured(1, 5, 7), 2},
		"not measured": {rates{"holdpoint": {frames: []float64{6}}}, 2},
		"nothing":      {rates{}, 2},
	} {
		if got := missedGoals(c.got, bars); len(got) != c.want {
			t.Errorf("%s: %q, want %d", name, got, c.want)
		}
	}
}

func TestGoals(t *testing.T) {
	for _, c := range []struct {
		goal goal
		want string
	}{
		{goal{1, "speed", 1.3, 1.2, true}, "| 1 | speed | ≥ 1.20 | 1.30 | met |"},
		{goal{1, "speed", 1.1, 1.2, true}, "| 1 | speed | ≥ 1.20 | 1.10 | **not met** |"},
		{goal{5, "memory", 1.1, 1.1, false}, "| 5 | memory | ≤ 1.10 | 1.10 | met |"},
		{goal{5, "memory", math.NaN(), 1.1, false}, "| 5 | memory | ≤ 1.10 | – | **not met** |"},
	} {
		if got := c.goal.String(); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestFlags(t *testing.T) {
	var told strings.Builder
	s, err := parse([]string{"-rounds", "3", "-targets", "holdpoint,nginx", "idle-9000", "blast"}, &told)
	if err != nil || s.rounds != 3 || len(s.targetNames) != 2 || len(s.selected) != 4 || s.selected[0].name != "idle-9000" {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := parse(nil, &told); err != nil || len(s.selected) != len(scenarios()) {
		t.Errorf("%d scenarios, %v", len(s.selected), err)
	}
	for _, args := range [][]string{{"-scale", "0"}, {"-rounds", "-1"}, {"-targets", "squid"}, {"blastt"}, {"id"}, {"-nothing"}} {
		if _, err := parse(args, &told); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}

func TestMemoryOfAProcess(t *testing.T) {
	status := []byte("Name:\tVmRSS: x\nVmHWM:\t   61440 kB\nVmRSS:\t   51200 kB\n")
	if n, err := kilobytes(status, "VmHWM:"); err != nil || n != 60<<20 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := kilobytes([]byte("Name: x"), "VmRSS:"); err == nil {
		t.Error("no line, and no error")
	}
}
