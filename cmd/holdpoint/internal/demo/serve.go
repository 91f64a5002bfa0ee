package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
)

// Serve keeps the scripted backend and Holdpoint running until ctx ends. The user brings a client,
// such as curl. Holdpoint accepts its connections on listener, which Serve closes.
//
// Serve writes to o.Out the address of Holdpoint, and a line for every email that the agent sends.
// It reads nothing from o.In.
func Serve(ctx context.Context, o Options, listener net.Listener) error {
	b := newBackend()
	b.onSend = func(args json.RawMessage) { fmt.Fprintf(o.Out, "the agent runs %s %s\n", tool, args) }
	backendURL, url, stop, err := o.serve(b, listener)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(o.Out, "a scripted agent, which asks before it sends an email: %s\n", backendURL)
	fmt.Fprintf(o.Out, "Holdpoint in front of it: %s (Ctrl-C ends both)\n", url)
	<-ctx.Done()
	return nil
}
