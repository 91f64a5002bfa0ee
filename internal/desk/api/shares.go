package api

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"holdpoint/internal/desk/policy"
	"holdpoint/store"
)

// places remembers the agent and the tenant of records. They never change, because both are part of
// a record's key. So a list can skip records without loading them: records that the caller may not
// list, and records of an agent that already has its share of the page.
type places struct {
	mu    sync.Mutex
	known map[store.Key]policy.Where
}

// maxPlaces is the largest number of records that places remembers. They need about 10 MB.
const maxPlaces = 1 << 16

// note remembers the agent and the tenant of a record, if they are known.
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

// placeOf returns the agent and the tenant of a record, and whether places has remembered them.
func (p *places) placeOf(key store.Key) (policy.Where, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, has := p.known[key]
	return at, has
}

// shares divides the space of one response among the agents.
type shares struct {
	places *places
	caller *Caller
	f      *filter
	hides  map[policy.Where]bool
	count  map[string]int // number of approvals in the response, by agent
	bytes  map[string]int
	passed map[string]bool // agents that have more approvals than their share
}

func (d *Desk) newShares(caller *Caller, f *filter) *shares {
	return &shares{
		places: &d.places, caller: caller, f: f,
		hides: map[policy.Where]bool{}, count: map[string]int{}, bytes: map[string]int{}, passed: map[string]bool{},
	}
}

// nextPart returns the rows that are loaded next, at most atOnce, and the remaining rows. It drops
// rows that are known not to be in the response.
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

// leavesOut reports whether it is known, without loading its record, that a row is not in the
// response.
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

// passesOver reports whether a record is left out because its agent already has its share of the
// response.
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

// took counts an approval in the response for the share of its agent.
func (s *shares) took(key store.Key, size int) {
	if at, known := s.places.placeOf(key); known {
		s.count[at.Agent]++
		s.bytes[at.Agent] += size
	}
}

// agentsLeft returns the names of the agents some of whose approvals are not in the response,
// sorted.
func (s *shares) agentsLeft() []string { return slices.Sorted(maps.Keys(s.passed)) }
