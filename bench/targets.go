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
	name            string
	form            form
	share           float64 // the part of the load to measure with; small for slow kinds
	start           func(b *bench, ctx context.Context, name string) (*process, error)
	inFullTableOnly bool // measured only for the complete table, not in every scenario
}

// kinds returns all kinds, in the order of the tables.
func kinds() []kind {
	return []kind{
		{name: "direct", share: 1, start: nil, inFullTableOnly: true},
		{name: "tcp", share: 1, start: startReference, inFullTableOnly: true},
		{name: "nginx", share: 1, start: startNginx, inFullTableOnly: true},
		{name: "haproxy", share: 1, start: startHAProxy, inFullTableOnly: true},
		{name: "reverseproxy", share: 1, start: startReference},
		{name: "reverseproxy-32k", share: 1, start: startReference},
		{name: "reverseproxy-128k", share: 1, start: startReference, inFullTableOnly: true},
		{name: "reverseproxy-least", share: 1, start: startReference, inFullTableOnly: true},
		{name: "holdpoint", form: formRewritten, share: 1, start: holdpointStarter("")},
		{name: "against", form: formRewritten, share: 1, start: holdpointStarter("")},
		{name: "naive", form: formReencoded, share: 0.1, start: startReference, inFullTableOnly: true},
		{name: "node", share: 0.1, start: startNode, inFullTableOnly: true},
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

// startReference starts this program as one of the reference proxies.
func startReference(b *bench, ctx context.Context, name string) (*process, error) {
	return start(ctx, name, "", os.Environ(), listeningAddress, b.programPath, "proxy", name, b.origin.address)
}

func listeningAddress(line string) string {
	address, ok := strings.CutPrefix(line, listening)
	if !ok {
		return ""
	}
	return address
}

// holdpointStarter returns a function that starts the Holdpoint binary. The only settings are the
// upstream, and the dialect if it is not "".
func holdpointStarter(dialect string) func(b *bench, ctx context.Context, name string) (*process, error) {
	if dialect == "" {
		return holdpointStarterWith()
	}
	return holdpointStarterWith("HOLDPOINT_DIALECT=" + dialect)
}

// holdpointStarterWith returns a function that starts the Holdpoint binary. more has further
// variables, as NAME=value.
func holdpointStarterWith(more ...string) func(b *bench, ctx context.Context, name string) (*process, error) {
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
	return start(ctx, name, "", append(env, more...), loggedAddress, binary)
}

// loggedAddress returns the address if the line of Holdpoint's log contains it, or "".
func loggedAddress(line string) string {
	var entry struct {
		Msg  string `json:"msg"`
		Addr string `json:"addr"`
	}
	if json.Unmarshal([]byte(line), &entry) != nil || entry.Msg != "listening" {
		return ""
	}
	return entry.Addr
}

// withDialect returns the kind with the given dialect configured.
func (k kind) withDialect(dialect string) kind {
	k.name += " " + dialect
	k.start = holdpointStarter(dialect)
	return k
}

// startTarget starts a target of the given kind.
func (b *bench) startTarget(k kind) (*target, error) {
	if k.start == nil {
		return &target{kind: k, name: k.name, address: b.origin.address}, nil
	}
	base, _, _ := strings.Cut(k.name, " ")
	p, err := k.start(b, b.ctx, base)
	if err != nil {
		return nil, err
	}
	b.processes = append(b.processes, p)
	return &target{kind: k, name: k.name, address: p.address, process: p}, nil
}

// withNewTarget starts a target for a single measurement and ends it afterwards. A new process is
// needed because memory depends on earlier load.
func (b *bench) withNewTarget(k kind, measure func(t *target) error) error {
	t, err := b.startTarget(k)
	if err != nil {
		return err
	}
	defer b.endTarget(t)
	if err := measure(t); err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	return nil
}
