package api

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"holdpoint/internal/desk/policy"
	"holdpoint/store"
)

// recordScopes remembers the agent and the tenant of records. They never change, because both are
// part of a record's key. So a list can skip records without loading them: records that the caller
// may not list, and records of an agent that already has its share of the page.
type recordScopes struct {
	mu    sync.Mutex
	byKey map[store.Key]policy.Scope
}

// maxScopes is the largest number of records that recordScopes remembers. They need about 10 MB.
const maxScopes = 1 << 16

// note remembers the agent and the tenant of a record, if they are known.
func (p *recordScopes) note(key store.Key, scope policy.Scope) {
	if !scope.IsKnown {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, has := p.byKey[key]; has {
		return
	}
	if p.byKey == nil || len(p.byKey) >= maxScopes {
		p.byKey = make(map[store.Key]policy.Scope)
	}
	scope.Agent, scope.Tenant = strings.Clone(scope.Agent), strings.Clone(scope.Tenant)
	p.byKey[store.Key(strings.Clone(string(key)))] = scope
}

// scopeOf returns the agent and the tenant of a record, and whether recordScopes has remembered
// them.
func (p *recordScopes) scopeOf(key store.Key) (policy.Scope, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, has := p.byKey[key]
	return at, has
}

// shares divides the space of one response among the agents.
type shares struct {
	scopes  *recordScopes
	caller  *Caller
	f       *filter
	hidden  map[policy.Scope]bool
	count   map[string]int // number of approvals in the response, by agent
	bytes   map[string]int
	limited map[string]bool // agents that have more approvals than their share
}

func (d *Desk) newShares(caller *Caller, f *filter) *shares {
	return &shares{
		scopes: &d.scopes, caller: caller, f: f,
		hidden: map[policy.Scope]bool{}, count: map[string]int{}, bytes: map[string]int{}, limited: map[string]bool{},
	}
}

// nextPart returns the rows that are loaded next, at most concurrentLoads, and the remaining rows.
// It drops rows that are known not to be in the response.
func (s *shares) nextPart(rows []store.Row) (part, rest []store.Row) {
	for n, row := range rows {
		if len(part) == concurrentLoads {
			return part, rows[n:]
		}
		if !s.omits(row.Key) {
			part = append(part, row)
		}
	}
	return part, nil
}

// omits reports whether it is known, without loading its record, that a row is not in the
// response.
func (s *shares) omits(key store.Key) bool {
	at, known := s.scopes.scopeOf(key)
	if !known {
		return false
	}
	hides, asked := s.hidden[at]
	if !asked {
		hides = !s.caller.rights(at).Has(policy.List)
		s.hidden[at] = hides
	}
	return hides || s.f.agent != "" && at.Agent != s.f.agent || s.exceedsShare(key)
}

// exceedsShare reports whether a record is left out because its agent already has its share of the
// response.
func (s *shares) exceedsShare(key store.Key) bool {
	if s.f.perAgent == 0 {
		return false
	}
	at, known := s.scopes.scopeOf(key)
	if !known || s.count[at.Agent] < s.f.perAgent && s.bytes[at.Agent] < maxPageBytes/maxAgentPart {
		return false
	}
	s.limited[at.Agent] = true
	return true
}

// addApproval counts an approval in the response for the share of its agent.
func (s *shares) addApproval(key store.Key, size int) {
	if at, known := s.scopes.scopeOf(key); known {
		s.count[at.Agent]++
		s.bytes[at.Agent] += size
	}
}

// agentsLeft returns the names of the agents some of whose approvals are not in the response,
// sorted.
func (s *shares) agentsLeft() []string { return slices.Sorted(maps.Keys(s.limited)) }
