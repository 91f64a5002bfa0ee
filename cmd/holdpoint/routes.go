package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"holdpoint/internal/variables"
	"holdpoint/proxy"
	"holdpoint/translate/dialects"
)

// A route is one more agent, below a path of its own. Its variables are those of an Agent and of
// the dialects. In their names, HOLDPOINT_ROUTES_0_, HOLDPOINT_ROUTES_1_ and so on replace the
// prefix HOLDPOINT_.
//
// If a variable is not set for a route, the route inherits the value of the variable with the
// prefix HOLDPOINT_. It does not inherit NAME, nor the variables that begin with UPSTREAM, nor
// DESK_HEADERS_FILE, because a credential for one backend must not be sent to another.
type route struct {
	Path string `env:"PATH" doc:"path of another agent, such as /billing; all paths below it belong to it. HOLDPOINT_ROUTES_0_NAME and HOLDPOINT_ROUTES_0_UPSTREAM belong to the same agent, and so do its other settings. The next agent has HOLDPOINT_ROUTES_1_PATH, and so on (docs/routes.md)"`
	Agent
	ownVariables map[string]bool // names of the variables that are set for the route itself
}

// routeName matches the prefix of a route's variable. Its group is the number of the route.
var routeName = regexp.MustCompile(`^HOLDPOINT_ROUTES_(0|[1-9][0-9]{0,5})_`)

// routeVariable stands for the variables of all routes in the reference.
var routeVariable = variables.Variable{
	Name: prefix + "ROUTES_0_PATH",
	Doc:  docRoute,
}

// inherits reports whether a route inherits the variable. The parameter name has no prefix.
func inherits(name string) bool {
	return name != "PATH" && name != "NAME" && name != "DESK_HEADERS_FILE" && !strings.HasPrefix(name, "UPSTREAM")
}

// readRoutes reads the routes of an environment. It returns the errors that each route has by
// itself. checkRoutes finds the errors between routes.
func readRoutes(environment map[string]string, list dialects.List) ([]*route, []error) {
	numbers := map[int]bool{}
	for name, value := range environment {
		if m := routeName.FindStringSubmatch(name); m != nil && value != "" && !kubernetesVariable.MatchString(name) {
			n, _ := strconv.Atoi(m[1]) // at most six digits
			numbers[n] = true
		}
	}
	var routes []*route
	var errs []error
	for n := range numbers {
		r := &route{Agent: Agent{prefix: fmt.Sprintf("%sROUTES_%d_", prefix, n)}, ownVariables: map[string]bool{}}
		r.dialects = list.WithPrefix(r.prefix)
		routes = append(routes, r)
	}
	slices.SortFunc(routes, func(a, b *route) int {
		return cmp.Or(cmp.Compare(len(a.prefix), len(b.prefix)), cmp.Compare(a.prefix, b.prefix))
	})
	for n, r := range routes {
		if want := fmt.Sprintf("%sROUTES_%d_", prefix, n); r.prefix != want {
			errs = append(errs, fmt.Errorf(textRoutesGap, r.prefix, want))
			break
		}
	}
	for _, r := range routes {
		errs = append(errs, r.read(environment)...)
	}
	return routes, errs
}

// variables returns the variables of the route, including the options of its dialects.
func (r *route) variables() []variables.Variable {
	list := append(r.routeGroup().Variables(), r.dialects.Variables()...)
	for i := range list {
		if list[i].Name == r.prefix+"DIALECT" {
			list[i].Values = r.dialects.Names()
		}
	}
	return list
}

func (r *route) routeGroup() variables.Group { return variables.Group{Prefix: r.prefix, Options: r} }

// read sets the route's settings from an environment, and returns the errors in them.
func (r *route) read(environment map[string]string) []error {
	mine := map[string]string{}
	inherited := map[string]bool{}
	for _, v := range r.variables() {
		name := strings.TrimPrefix(v.Name, r.prefix)
		mine[v.Name] = environment[v.Name]
		r.ownVariables[v.Name] = mine[v.Name] != ""
		if !r.ownVariables[v.Name] && inherits(name) {
			mine[v.Name] = environment[prefix+name]
			inherited[v.Name] = mine[v.Name] != ""
		}
	}
	errs := append(r.routeGroup().Read(mine), r.dialects.Read(mine)...)
	errs = append(errs, r.checkRoute()...)
	// the error in an inherited value is already reported for the variable with the prefix
	// HOLDPOINT_
	return slices.DeleteFunc(errs, func(err error) bool {
		name, _, _ := strings.Cut(err.Error(), " ")
		return inherited[strings.TrimSuffix(name, ":")]
	})
}

// checkRoute returns the errors that the route has by itself, without regard to other routes.
func (r *route) checkRoute() []error {
	var errs []error
	for _, one := range []struct {
		name, example string
		missing       bool
	}{
		{"PATH", textWantPath, r.Path == ""},
		{"NAME", textWantName, r.Name == ""},
		{"UPSTREAM", textWantUpstream, !r.ownVariables[r.prefix+"UPSTREAM"]},
	} {
		if one.missing {
			errs = append(errs, fmt.Errorf(textRouteNotSet, r.prefix, one.name, one.example))
		}
	}
	if r.Path != "" && r.Path != "/" {
		if err := proxy.CheckPrefix(r.Path); err != nil {
			errs = append(errs, r.routeGroup().ErrorFor("PATH", err))
		}
		r.path = r.Path
	}
	return append(errs, r.Check()...)
}

// checkRoutes returns an error for each path and each name that two agents share, and for each
// variable that no agent uses.
func (s *settings) checkRoutes() []error {
	var errs []error
	if len(s.routes) > 0 && !s.agent.isSet() {
		for _, v := range s.agent.group().Variables() {
			if name := strings.TrimPrefix(v.Name, prefix); !v.IsDefault && !inherits(name) && name != "UPSTREAM" {
				errs = append(errs, s.agent.group().ErrorFor(name, fmt.Errorf(textUpstreamOnly, s.routes[0].prefix, name)))
			}
		}
	}
	paths, names := map[string]string{}, map[string]string{}
	if s.agent.isSet() {
		paths["/"] = prefix + "UPSTREAM"
		names[s.agent.Name] = prefix + "NAME"
	}
	for _, r := range s.routes {
		path := strings.ToLower(r.Path)
		switch before := paths[path]; {
		case path == "":
		case before == prefix+"UPSTREAM":
			errs = append(errs, r.routeGroup().ErrorFor("PATH", errors.New(textRouteOfAll)))
		case before != "":
			errs = append(errs, r.routeGroup().ErrorFor("PATH", fmt.Errorf(textSamePath, before)))
		default:
			paths[path] = r.prefix + "PATH"
		}
		if before := names[r.Name]; before != "" && r.Name != "" {
			errs = append(errs, r.routeGroup().ErrorFor("NAME", fmt.Errorf(textSameName, before)))
		}
		names[r.Name] = r.prefix + "NAME"
	}
	return errs
}

// checkNotForRoute returns an error if name is a route's variable that can be set only for all
// agents together. Otherwise it returns nil.
func checkNotForRoute(name string, known []variables.Variable) error {
	m := routeName.FindString(name)
	if m == "" {
		return nil
	}
	whole := prefix + strings.TrimPrefix(name, m)
	if !slices.ContainsFunc(known, func(v variables.Variable) bool { return v.Name == whole }) {
		return nil
	}
	return fmt.Errorf(textNotOfRoute, name, whole)
}
