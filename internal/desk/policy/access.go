package policy

import (
	"slices"
	"strings"
)

// Rights are what a caller may do with questions.
type Rights uint8

// The rights. Each of them includes List, and Decide includes Read: nobody decides a question that
// he may not read.
const (
	List         Rights = 1 << iota // see that a question exists: its agent, tool, age and user
	Read                            // see its arguments, its message and the answers too
	Conversation                    // see the end of the conversation too
	Decide                          // answer it
	Operate                         // end it without an answer
)

// None has no right, and All has every right.
const (
	None Rights = 0
	All         = List | Read | Conversation | Decide | Operate
)

// rightNames are the names in the file, in the order of the rights.
var rightNames = []string{"list", "read", "conversation", "decide", "operate"}

// rightNamed returns the right with a name, including those that it implies, or None for an unknown
// name.
func rightNamed(name string) Rights {
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
	return None
}

// Has reports whether r includes all of these rights.
func (r Rights) Has(these Rights) bool { return r&these == these }

// Names returns the names of the rights.
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

// An Entry gives rights to some callers, for questions of some agents and tenants.
type Entry struct {
	Names, Groups []string // callers with one of these names or groups
	Agents        []string // * matches any characters; "*" alone also matches an unknown agent
	// Tenants are names of tenants. "*" means all, including an unknown one. An empty list means
	// questions without a tenant.
	Tenants []string
	Rights  Rights
}

// Where is the agent and the tenant of a question. Known means that the record has them: a question
// of an older version could be anybody's.
type Where struct {
	Agent, Tenant string
	Known         bool
}

// For returns the rights of a caller at a place.
func (a Access) For(name string, groups []string, at Where) Rights {
	return a.union(name, groups, func(e *Entry) bool { return e.covers(at) })
}

// Anywhere returns the rights that a caller has for at least one question.
func (a Access) Anywhere(name string, groups []string) Rights {
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

func (e *Entry) covers(at Where) bool {
	if !at.Known {
		return slices.Contains(e.Agents, "*") && slices.Contains(e.Tenants, "*")
	}
	tenant := at.Tenant == "" && len(e.Tenants) == 0 ||
		slices.ContainsFunc(e.Tenants, func(t string) bool { return t == "*" || t == at.Tenant && t != "" })
	return tenant && slices.ContainsFunc(e.Agents, func(glob string) bool { return matches(glob, at.Agent) })
}

// matches reports whether the name matches the glob. * matches any characters, including slashes,
// and no other character is special.
func matches(glob, name string) bool {
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
