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

// A kind is a way from the client to the origin: a proxy, or direct.
type kind struct {
	name  string
	form  form
	share float64 // of the load: slow kinds are measured with less
	start func(b *bench, ctx context.Context, name string) (*process, error)
	full  bool // only part of the complete table, not of every scenario
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

// A target is a running kind.
type target struct {
	kind    kind
	name    string
	address string
	process *process // nil for the direct way to the origin
}

// reference starts a proxy of this program.
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

// holdpoint starts the binary with no settings except the upstream, and the dialect if it is not
// "".
func holdpoint(dialect string) func(b *bench, ctx context.Context, name string) (*process, error) {
	if dialect == "" {
		return holdpointWith()
	}
	return holdpointWith("HOLDPOINT_DIALECT=" + dialect)
}

// holdpointWith starts the binary with further variables.
func holdpointWith(more ...string) func(b *bench, ctx context.Context, name string) (*process, error) {
	return func(b *bench, ctx context.Context, name string) (*process, error) {
		binary := b.settings.binary
		if name == "against" {
			binary = b.settings.against
		}
		return startHoldpoint(b, ctx, name, binary, more...)
	}
}

// startHoldpoint starts a binary of Holdpoint with these variables.
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

// listeningInLog finds the address in a line of Holdpoint's log.
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

// speaking returns the kind with the dialect configured.
func (k kind) speaking(dialect string) kind {
	k.name += " " + dialect
	k.start = holdpoint(dialect)
	return k
}

// begin starts a target.
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

// fresh starts a target for one measurement, because memory depends on earlier load.
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
