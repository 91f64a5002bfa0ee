package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"holdpoint/internal/desk"
	"holdpoint/internal/edge/listen"
)

// checkAcross returns the errors in settings that are valid one by one but not together.
func (s *settings) checkAcross() []error {
	errs := s.checkAddresses()
	errs = append(errs, s.checkIdentity()...)
	errs = append(errs, s.checkDesk()...)
	if s.deskOnly {
		errs = append(errs, s.checkDeskOnly()...)
	}
	return errs
}

// checkAddresses returns an error for each pair of listeners with the same address, and for each
// agent whose backend address is one of this process's own listeners.
func (s *settings) checkAddresses() (errs []error) {
	run, probes, d := &s.front.Listen, &s.admin.Listen, &s.desk.Listen
	overlap := func(a, b *listen.Variable) bool {
		return a.Address.IsSet() && b.Address.IsSet() && a.Address.Overlaps(b.Address)
	}
	if overlap(run, probes) {
		errs = append(errs, s.variableErrorf("ADMIN_LISTEN", textProbesTaken, run))
	}
	if overlap(run, d) {
		errs = append(errs, s.variableErrorf("DESK_LISTEN", textDeskTakenByRuns, run))
	}
	if overlap(probes, d) {
		errs = append(errs, s.variableErrorf("DESK_LISTEN", textDeskTakenByProbes, probes))
	}
	for _, a := range s.agents() {
		for _, at := range []struct {
			*listen.Variable
			what string
		}{
			{run, textOwnRuns},
			{probes, textOwnProbes},
			{d, textOwnDesk},
		} {
			if at.Address.IsSet() && isOwn(a.Upstream.URL, at.String()) {
				errs = append(errs, a.group().ErrorFor("UPSTREAM", fmt.Errorf(at.what, at)))
			}
		}
	}
	return errs
}

// isOwn reports whether upstream is an address at which this process listens. Holdpoint would then
// forward each run to itself until no file descriptor is left. It recognizes loopback addresses and
// the host in listen, but no other names of this machine.
func isOwn(upstream *url.URL, listen string) bool {
	host, port, err := net.SplitHostPort(listen)
	if upstream == nil || err != nil || port == "0" || upstream.Port() != port {
		return false
	}
	up := upstream.Hostname()
	local := up == "localhost" || net.ParseIP(up).IsLoopback() || net.ParseIP(up).IsUnspecified()
	return up == host || local && (host == "" || host == "localhost" || net.ParseIP(host).IsLoopback() || net.ParseIP(host).IsUnspecified())
}

// checkIdentity returns an error if HOLDPOINT_TRUSTED_PEERS is set but no other setting uses it, or
// if runs arrive on a Unix socket, where clients have no addresses to compare with the trusted
// peers.
func (s *settings) checkIdentity() []error {
	switch peers := len(s.identity.TrustedPeers) > 0; {
	case s.identity.HeaderCount() == 0 && peers && !s.desk.UsesPeers():
		return []error{s.variableErrorf("TRUSTED_PEERS", textPeersUnused)}
	case s.identity.HeaderCount() > 0 && peers && strings.HasPrefix(s.front.Listen.String(), "unix:"):
		return []error{s.variableErrorf("TRUSTED_PEERS", textPeersOnSocket)}
	}
	return nil
}

// checkDesk returns the errors in the settings of the desk (the web page of approvers): settings of
// a desk that is off, a store that another process cannot share with the desk, headers that are
// believed from any address, and tokens that agents get too.
func (s *settings) checkDesk() (errs []error) {
	d := &s.desk
	if !d.IsOn() {
		for _, a := range s.agents() {
			if a.DeskHeadersFile != "" {
				errs = append(errs, a.group().ErrorFor("DESK_HEADERS_FILE", desk.ErrOff))
			}
		}
	}
	if d.IsElsewhere() && s.store.IsKnown() && !s.store.IsRemote() {
		errs = append(errs, s.variableErrorf("DESK_LISTEN", textStoreNotShared))
	}
	if !d.IsHere() {
		return errs
	}
	if peers := d.Peers(s.identity.TrustedPeers); d.ByHeader() && len(peers) == 0 {
		errs = append(errs, errors.New(textNoDeskPeers))
	} else if d.ByHeader() && peers.HasEverybody() {
		errs = append(errs, s.variableErrorf("TRUSTED_PEERS", textDeskPeersAll))
	}
	if d.ByToken() && d.JWTIssuer != "" && d.JWTIssuer == s.identity.JWTIssuer && d.JWTAudience == s.identity.JWTAudience {
		errs = append(errs, s.variableErrorf("DESK_JWT_AUDIENCE", textSameAudience))
	}
	return errs
}

// checkDeskOnly returns the errors in the settings of `holdpoint desk`. The command needs a
// listener for the desk and a store that other processes share, and may not have an agent.
func (s *settings) checkDeskOnly() (errs []error) {
	if !s.desk.IsHere() {
		errs = append(errs, errors.New(textNoDeskListen))
	}
	if s.agent.isSet() || len(s.routes) > 0 {
		errs = append(errs, errors.New(textDeskHasAgent))
	}
	if s.store.IsKnown() && !s.store.IsRemote() {
		errs = append(errs, s.variableErrorf("STORE", textDeskAlone))
	}
	return errs
}
