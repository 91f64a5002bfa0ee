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

// checkAcross judges what follows from the settings of several parts, by topic.
func (s *settings) checkAcross() []error {
	errs := s.checkAddresses()
	errs = append(errs, s.checkIdentity()...)
	errs = append(errs, s.checkDesk()...)
	if s.deskOnly {
		errs = append(errs, s.checkDeskOnly()...)
	}
	return errs
}

// checkAddresses: each listener has an address of its own, and none is the backend's.
func (s *settings) checkAddresses() (errs []error) {
	run, probes, d := &s.front.Listen, &s.admin.Listen, &s.desk.Listen
	overlap := func(a, b *listen.Variable) bool {
		return a.Address.Given() && b.Address.Given() && a.Address.Overlaps(b.Address)
	}
	if overlap(run, probes) {
		errs = append(errs, s.wrongf("ADMIN_LISTEN", "it is taken by HOLDPOINT_LISTEN (%s): runs and probes need an address each", run))
	}
	if overlap(run, d) {
		errs = append(errs, s.wrongf("DESK_LISTEN", "it is taken by HOLDPOINT_LISTEN (%s), want an address of its own", run))
	}
	if overlap(probes, d) {
		errs = append(errs, s.wrongf("DESK_LISTEN", "it is taken by HOLDPOINT_ADMIN_LISTEN (%s), want an address of its own", probes))
	}
	for _, a := range s.agents() {
		for _, at := range []struct {
			*listen.Variable
			what string
		}{
			{run, "this is where Holdpoint itself listens (HOLDPOINT_LISTEN %s), want the backend's address"},
			{probes, "this is where Holdpoint's probes are (HOLDPOINT_ADMIN_LISTEN %s): give those another address, or off"},
			{d, "this is where Holdpoint's desk is (HOLDPOINT_DESK_LISTEN %s), want the backend's address"},
		} {
			if at.Address.Given() && isOwn(a.Upstream.URL, at.String()) {
				errs = append(errs, a.group().Wrong("UPSTREAM", fmt.Errorf(at.what, at)))
			}
		}
	}
	return errs
}

// isOwn reports whether the address is one that this process listens on. Each run would then go
// round until the files run out. It does not know other names of this machine.
func isOwn(upstream *url.URL, listen string) bool {
	host, port, err := net.SplitHostPort(listen)
	if upstream == nil || err != nil || port == "0" || upstream.Port() != port {
		return false
	}
	up := upstream.Hostname()
	local := up == "localhost" || net.ParseIP(up).IsLoopback() || net.ParseIP(up).IsUnspecified()
	return up == host || local && (host == "" || host == "localhost" || net.ParseIP(host).IsLoopback() || net.ParseIP(host).IsUnspecified())
}

// checkIdentity: somebody believes the peers, and they have addresses.
func (s *settings) checkIdentity() []error {
	switch peers := len(s.who.TrustedPeers) > 0; {
	case s.who.Headers() == 0 && peers && !s.desk.UsesPeers():
		return []error{s.wrongf("TRUSTED_PEERS", "nothing is taken from them, set HOLDPOINT_PRINCIPAL_HEADER or HOLDPOINT_TENANT_HEADER, or leave it out")}
	case s.who.Headers() > 0 && peers && strings.HasPrefix(s.front.Listen.String(), "unix:"):
		return []error{s.wrongf("TRUSTED_PEERS", "who comes by the unix socket of HOLDPOINT_LISTEN has no address, so no header would be believed: want host:port there")}
	}
	return nil
}

// checkDesk: the desk has a store that fits, headers that are believed, and an audience of its own.
func (s *settings) checkDesk() (errs []error) {
	d := &s.desk
	if !d.IsOn() {
		for _, a := range s.agents() {
			if a.DeskHeadersFile != "" {
				errs = append(errs, a.group().Wrong("DESK_HEADERS_FILE", desk.ErrOff))
			}
		}
	}
	if d.IsElsewhere() && s.store.IsKnown() && !s.store.IsRemote() {
		errs = append(errs, s.wrongf("DESK_LISTEN", "no other process shares this store, want Redis or PostgreSQL as HOLDPOINT_STORE, or an address"))
	}
	if !d.IsHere() {
		return errs
	}
	if peers := d.Peers(s.who.TrustedPeers); d.ByHeader() && len(peers) == 0 {
		errs = append(errs, errors.New("HOLDPOINT_DESK_TRUSTED_PEERS is not set (nor HOLDPOINT_TRUSTED_PEERS), and no header is believed without it, want the networks of the proxy that sets them, such as 10.0.0.0/8, or a unix socket for HOLDPOINT_DESK_LISTEN"))
	} else if d.ByHeader() && peers.Everybody() {
		errs = append(errs, s.wrongf("TRUSTED_PEERS", "a whole family of addresses is in it: anybody who reaches the desk could be anybody, want HOLDPOINT_DESK_TRUSTED_PEERS with the network of the desk's proxy"))
	}
	if d.ByToken() && d.JWTIssuer != "" && d.JWTIssuer == s.who.JWTIssuer && d.JWTAudience == s.who.JWTAudience {
		errs = append(errs, s.wrongf("DESK_JWT_AUDIENCE", "it is HOLDPOINT_JWT_AUDIENCE too: the agent gets the tokens of its users, and could answer its own questions with them, want an audience of the desk's own"))
	}
	return errs
}

// checkDeskOnly: `holdpoint desk` has a desk, no agent, and a store that others share.
func (s *settings) checkDeskOnly() (errs []error) {
	if !s.desk.IsHere() {
		errs = append(errs, errors.New("HOLDPOINT_DESK_LISTEN is not set, want the address of the desk, such as :7082"))
	}
	if s.agent.isSet() || len(s.routes) > 0 {
		errs = append(errs, errors.New("HOLDPOINT_UPSTREAM: holdpoint desk has no agent of its own, want it left out, and the routes too; or holdpoint run, which has a desk as well"))
	}
	if s.store.IsKnown() && !s.store.IsRemote() {
		errs = append(errs, s.wrongf("STORE", "no other process shares it, so there is nothing to see in it: want the Redis or PostgreSQL of the agents"))
	}
	return errs
}
