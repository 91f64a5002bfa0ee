package api

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"holdpoint/internal/desk/policy"
	"holdpoint/store"
)

// places remembers the agent and the tenant of records, which never change because both are part of
// the key. With it, a list can skip records without loading them: those that its caller may not
// list, and those of an agent that already has its share of the page.
type places struct {
	mu    sync.Mutex
	known map[store.Key]policy.Where
}

// maxPlaces limits the remembered records, to about 10 MB.
const maxPlaces = 1 << 16

// note remembers the place of a record, if it is known.
func (p *places) note(key store.Key, at policy.Where) {
	if !at.Known {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, has := p.known[key]; has {
		return
	}
	if p.known == nil || len(p.known) >= maxPlaces {
		p.known = make(map[store.Key]policy.Where)
	}
	at.Agent, at.Tenant = strings.Clone(at.Agent), strings.Clone(at.Tenant)
	p.known[store.Key(strings.Clone(string(key)))] = at
}

// placeOf returns the place of a record, and whether it is remembered.
func (p *places) placeOf(key store.Key) (policy.Where, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, has := p.known[key]
	return at, has
}

// Shares divide the space of one response among the agents.
type shares struct {
	places *places
	caller *Caller
	f      *filter
	hides  map[policy.Where]bool
	count  map[string]int // approvals in the answer, by agent
	bytes  map[string]int
	passed map[string]bool // agents with more than their share
}

func (d *Desk) newShares(caller *Caller, f *filter) *shares {
	return &shares{
		places: &d.places, caller: caller, f: f,
		hides: map[policy.Where]bool{}, count: map[string]int{}, bytes: map[string]int{}, passed: map[string]bool{},
	}
}

// nextPart splits off the rows that are to be loaded next.
func (s *shares) nextPart(rows []store.Row) (part, rest []store.Row) {
	for n, row := range rows {
		if len(part) == atOnce {
			return part, rows[n:]
		}
		if !s.leavesOut(row.Key) {
			part = append(part, row)
		}
	}
	return part, nil
}

// leavesOut reports whether a row is already known not to be in the response.
func (s *shares) leavesOut(key store.Key) bool {
	at, known := s.places.placeOf(key)
	if !known {
		return false
	}
	hides, asked := s.hides[at]
	if !asked {
		hides = !s.caller.rights(at).Has(policy.List)
		s.hides[at] = hides
	}
	return hides || s.f.agent != "" && at.Agent != s.f.agent || s.passesOver(key)
}

// passesOver reports whether the record may be listed, and its agent already has its share.
func (s *shares) passesOver(key store.Key) bool {
	if s.f.perAgent == 0 {
		return false
	}
	at, known := s.places.placeOf(key)
	if !known || s.count[at.Agent] < s.f.perAgent && s.bytes[at.Agent] < maxPageBytes/maxAgentPart {
		return false
	}
	s.passed[at.Agent] = true
	return true
}

// took counts an approval of the response.
func (s *shares) took(key store.Key, size int) {
	if at, known := s.places.placeOf(key); known {
		s.count[at.Agent]++
		s.bytes[at.Agent] += size
	}
}

// agentsLeft returns the agents that have more approvals than the response.
func (s *shares) agentsLeft() []string { return slices.Sorted(maps.Keys(s.passed)) }
