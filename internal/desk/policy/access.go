package policy

import (
	"slices"
	"strings"
)

// Rights are what somebody may do with questions.
type Rights uint8

// The rights. Each but List has List in it, and Decide has Read: nobody decides what he may not
// read.
const (
	List         Rights = 1 << iota // see that it is there: agent, tool, age, who asked
	Read                            // and its arguments, its message and the answers
	Conversation                    // and the end of the conversation
	Decide                          // answer it
	Operate                         // give it up without an answer
)

// None has no right and All has every right.
const (
	None Rights = 0
	All         = List | Read | Conversation | Decide | Operate
)

// rightNames are the names in the file, in the order of the rights.
var rightNames = []string{"list", "read", "conversation", "decide", "operate"}

// rightNamed returns the right of a name with those that it has in it, None for another name.
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

// Has reports whether all of these rights are among r.
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

// Access is who has which rights. The zero Access gives nobody any.
type Access []Entry

// An Entry gives rights to some callers for questions of some agents and tenants.
type Entry struct {
	Names, Groups []string // whoever has one of them
	Agents        []string // * stands for any characters; "*" alone also for an agent that is not known
	// Tenants are names of tenants. "*" stands for all, and for one that is not known. Without
	// any the entry is for questions that have no tenant.
	Tenants []string
	Rights  Rights
}

// Where is the agent and the tenant of a question. Known says that the record has them: a question
// of an earlier version could be anybody's.
type Where struct {
	Agent, Tenant string
	Known         bool
}

// For returns the rights that somebody has there.
func (a Access) For(name string, groups []string, at Where) Rights {
	return a.union(name, groups, func(e *Entry) bool { return e.covers(at) })
}

// Anywhere returns the rights that somebody has for any question.
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

// matches reports whether the name is as the glob says. * stands for any characters, a slash too,
// and nothing else stands for anything.
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
