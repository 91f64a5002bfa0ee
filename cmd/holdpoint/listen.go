package main

import (
	"errors"
	"fmt"
	"syscall"

	"holdpoint/internal/edge/listen"
)

// off is the HOLDPOINT_ADMIN_LISTEN without an admin listener.
const off = "off"

// withListenHint returns the arguments of a log line, with a hint if an address is in use.
func withListenHint(err error, args ...any) []any {
	if errors.Is(err, syscall.EADDRINUSE) {
		return append(args, "hint", "another process listens there. A Holdpoint that was told to stop keeps the address for HOLDPOINT_DRAIN_DELAY, and ends within HOLDPOINT_DRAIN_TIMEOUT after that")
	}
	return args
}

// checkListen reads the two addresses to listen on, and judges them beside the backend's.
func (c *config) checkListen() []error {
	var errs []error
	wrong := func(name string, err error) { errs = append(errs, c.group().Wrong(name, err)) }
	var err error
	if c.listen, err = listen.Parse(c.Listen); err != nil {
		wrong("LISTEN", err)
	}
	for _, a := range c.agents() {
		if err == nil && isOwn(a.Upstream.URL, c.Listen) {
			errs = append(errs, a.group().Wrong("UPSTREAM", fmt.Errorf("this is where Holdpoint itself listens (HOLDPOINT_LISTEN %s), want the backend's address", c.Listen)))
		}
	}
	if c.AdminListen == off {
		if c.PProf {
			wrong("PPROF", errors.New("profiles are on the admin listener, and HOLDPOINT_ADMIN_LISTEN is off"))
		}
		return errs
	}
	listens := err == nil
	switch c.admin, err = listen.Parse(c.AdminListen); {
	case err != nil:
		wrong("ADMIN_LISTEN", fmt.Errorf("%w, or off", err))
	case listens && c.listen.Overlaps(c.admin):
		wrong("ADMIN_LISTEN", fmt.Errorf("it is taken by HOLDPOINT_LISTEN (%s): runs and probes need an address each", c.Listen))
	default:
		for _, a := range c.agents() {
			if isOwn(a.Upstream.URL, c.AdminListen) {
				errs = append(errs, a.group().Wrong("UPSTREAM", fmt.Errorf("this is where Holdpoint's probes are (HOLDPOINT_ADMIN_LISTEN %s): give those another address, or off", c.AdminListen)))
			}
		}
	}
	return errs
}
