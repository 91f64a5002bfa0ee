package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
)

var dialer net.Dialer

// A kind is a way from the client to the origin: through a proxy, or directly.
type kind struct {
	name  string
	form  form
	share float64 // the part of the load to measure with; small for slow kinds
	start func(b *bench, ctx context.Context, name string) (*process, error)
	full  bool // measured only for the complete table, not in every scenario
}

// kinds returns all kinds, in the order of the tables.
func kinds() []kind {
	return []kind{
		{name: "direct", share: 1, start: nil, full: true},
		{name: "tcp", share: 1, start: reference, full: true},
		{name: "nginx", share: 1, start: startNginx, full: true},
		{name: "haproxy", share: 1, start: startHAProxy, full: true},
		{name: "reverseproxy", share: 1, start: reference},
		{name: "reverseproxy-32k", share: 1, start: reference},
		{name: "reverseproxy-128k", share: 1, start: reference, full: true},
		{name: "reverseproxy-least", share: 1, start: reference, full: true},
		{name: "holdpoint", form: asTold, share: 1, start: holdpoint("")},
		{name: "against", form: asTold, share: 1, start: holdpoint("")},
		{name: "naive", form: asDecoded, share: 0.1, start: reference, full: true},
		{name: "node", share: 0.1, start: startNode, full: true},
	}
}

func kindNames() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// A target is a kind that is running.
type target struct {
	kind    kind
	name    string
	address string
	process *process // nil for the target direct, which is the origin
}

// reference starts this program as one of the reference proxies.
func reference(b *bench, ctx context.Context, name string) (*process, error) {
	return start(ctx, name, "", os.Environ(), afterListening, b.self, "proxy", name, b.origin.address)
}

func afterListening(line string) string {
	address, ok := strings.CutPrefix(line, listening)
	if !ok {
		return ""
	}
	return address
}

// holdpoint returns a function that starts the Holdpoint binary. The only settings are the
// upstream, and the dialect if it is not "".
func holdpoint(dialect string) func(b *bench, ctx context.Context, name string) (*process, error) {
	if dialect == "" {
		return holdpointWith()
	}
	return holdpointWith("HOLDPOINT_DIALECT=" + dialect)
}

// holdpointWith returns a function that starts the Holdpoint binary. more has further variables, as
// NAME=value.
func holdpointWith(more ...string) func(b *bench, ctx context.Context, name string) (*process, error) {
	return func(b *bench, ctx context.Context, name string) (*process, error) {
		binary := b.settings.binary
		if name == "against" {
			binary = b.settings.against
		}
		return startHoldpoint(b, ctx, name, binary, more...)
	}
}

// startHoldpoint starts the given Holdpoint binary. more has further variables, as NAME=value.
func startHoldpoint(b *bench, ctx context.Context, name, binary string, more ...string) (*process, error) {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "HOLDPOINT_") {
			env = append(env, v)
		}
	}
	env = append(env, "HOLDPOINT_UPSTREAM=http://"+b.origin.address, "HOLDPOINT_LISTEN=127.0.0.1:0", "HOLDPOINT_ADMIN_LISTEN=off", "HOLDPOINT_LOG_FORMAT=json")
	return start(ctx, name, "", append(env, more...), listeningInLog, binary)
}

// listeningInLog returns the address if the line of Holdpoint's log contains it, or "".
func listeningInLog(line string) string {
	var entry struct {
		Msg  string `json:"msg"`
		Addr string `json:"addr"`
	}
	if json.Unmarshal([]byte(line), &entry) != nil || entry.Msg != "listening" {
		return ""
	}
	return entry.Addr
}

// speaking returns the kind with the given dialect configured.
func (k kind) speaking(dialect string) kind {
	k.name += " " + dialect
	k.start = holdpoint(dialect)
	return k
}

// begin starts a target of the given kind.
func (b *bench) begin(k kind) (*target, error) {
	if k.start == nil {
		return &target{kind: k, name: k.name, address: b.origin.address}, nil
	}
	base, _, _ := strings.Cut(k.name, " ")
	p, err := k.start(b, b.ctx, base)
	if err != nil {
		return nil, err
	}
	b.started = append(b.started, p)
	return &target{kind: k, name: k.name, address: p.address, process: p}, nil
}

// fresh starts a target for a single measurement and ends it afterwards. A new process is needed
// because memory depends on earlier load.
func (b *bench) fresh(k kind, measure func(t *target) error) error {
	t, err := b.begin(k)
	if err != nil {
		return err
	}
	defer b.end(t)
	if err := measure(t); err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	return nil
}
