package policy

import (
	"slices"
	"strings"
)

// Rights is a set of what a caller may do with questions.
type Rights uint8

// The rights. Whoever has any other right also has List, and whoever has Decide also has Read:
// nobody may decide a question without being allowed to read it.
const (
	List         Rights = 1 << iota // see that a question exists: its agent, tool, age and user
	Read                            // also see its arguments, its message and the answers
	Conversation                    // also see the end of the conversation
	Decide                          // answer the question
	Operate                         // end the question without an answer
)

// NoRights is the set without any right, and AllRights is the set of all rights.
const (
	NoRights  Rights = 0
	AllRights        = List | Read | Conversation | Decide | Operate
)

// rightNames has the names of the rights in the policy file, in the order of the constants.
var rightNames = []string{"list", "read", "conversation", "decide", "operate"}

// rightByName returns the right with this name, together with the rights that it includes. It
// returns NoRights for an unknown name.
func rightByName(name string) Rights {
	switch name {
	case "list":
		return List
	case "read":
		return List | Read
	case "conversation":
		return List | Conversation
	case "decide":
		return List | Read | Decide
	case "operate":
		return List | Operate
	}
	return NoRights
}

// Has reports whether r includes all rights in these.
func (r Rights) Has(these Rights) bool { return r&these == these }

// Names returns the names of the rights in r.
func (r Rights) Names() []string {
	names := []string{}
	for n, name := range rightNames {
		if r.Has(1 << n) {
			names = append(names, name)
		}
	}
	return names
}

// Access lists which callers have which rights. The zero Access gives no rights.
type Access []Entry

// An Entry gives rights to some callers, for the questions of some agents and tenants.
type Entry struct {
	Names, Groups []string // a caller needs one of these names or groups
	// names of agents; * matches any characters, and "*" alone matches an unknown agent too
	Agents []string
	// Tenants has the names of tenants. "*" means all tenants, even an unknown one. An empty list
	// means questions without a tenant.
	Tenants []string
	Rights  Rights
}

// Scope has the agent and the tenant of a question. IsKnown means that the record contains them. A
// record of an older version does not, so its question may belong to any agent and tenant.
type Scope struct {
	Agent, Tenant string
	IsKnown       bool
}

// RightsFor returns the rights of a caller for the agent and tenant in scope.
func (a Access) RightsFor(name string, groups []string, scope Scope) Rights {
	return a.union(name, groups, func(e *Entry) bool { return e.coversScope(scope) })
}

// RightsAnywhere returns the rights that a caller has for at least one agent and tenant.
func (a Access) RightsAnywhere(name string, groups []string) Rights {
	return a.union(name, groups, func(*Entry) bool { return true })
}

func (a Access) union(name string, groups []string, counts func(*Entry) bool) Rights {
	var r Rights
	for n := range a {
		if e := &a[n]; e.isFor(name, groups) && counts(e) {
			r |= e.Rights
		}
	}
	return r
}

func (e *Entry) isFor(name string, groups []string) bool {
	return slices.Contains(e.Names, name) || slices.ContainsFunc(e.Groups, func(g string) bool { return slices.Contains(groups, g) })
}

func (e *Entry) coversScope(scope Scope) bool {
	if !scope.IsKnown {
		return slices.Contains(e.Agents, "*") && slices.Contains(e.Tenants, "*")
	}
	tenant := scope.Tenant == "" && len(e.Tenants) == 0 ||
		slices.ContainsFunc(e.Tenants, func(t string) bool { return t == "*" || t == scope.Tenant && t != "" })
	return tenant && slices.ContainsFunc(e.Agents, func(glob string) bool { return matchesGlob(glob, scope.Agent) })
}

// matchesGlob reports whether name matches the pattern glob. A * matches any characters, even
// slashes. No other character is special.
func matchesGlob(glob, name string) bool {
	parts := strings.Split(glob, "*")
	if len(parts) == 1 {
		return glob == name
	}
	first, last := parts[0], parts[len(parts)-1]
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, rest, found := strings.Cut(name, part)
		if !found {
			return false
		}
		name = rest
	}
	return strings.HasSuffix(name, last)
}
