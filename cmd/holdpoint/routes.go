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
// the dialects, with the prefix HOLDPOINT_ROUTES_0_, HOLDPOINT_ROUTES_1_ and so on in place of
// HOLDPOINT_.
//
// A route inherits each variable that is not set for it from the variable without the route's
// prefix. It does not inherit the name, nor variables that begin with UPSTREAM, because a
// credential for one backend must not be sent to another.
type route struct {
	Path string `env:"PATH" doc:"path of another agent, such as /billing; all paths below it belong to it. HOLDPOINT_ROUTES_0_NAME and HOLDPOINT_ROUTES_0_UPSTREAM belong to the same agent, and so do its other settings. The next agent has HOLDPOINT_ROUTES_1_PATH, and so on (docs/routes.md)"`
	Agent
	own map[string]bool // names of the variables that are set for the route itself
}

// routeName matches the prefix of a route's variable.
var routeName = regexp.MustCompile(`^HOLDPOINT_ROUTES_(0|[1-9][0-9]{0,5})_`)

// routeVariable represents the variables of all routes in the reference.
var routeVariable = variables.Variable{
	Name: prefix + "ROUTES_0_PATH",
	Doc:  docRoute,
}

// inherits reports whether a route inherits the variable. name is without prefixes.
func inherits(name string) bool {
	return name != "PATH" && name != "NAME" && name != "DESK_HEADERS_FILE" && !strings.HasPrefix(name, "UPSTREAM")
}

// readRoutes reads the routes of an environment. It returns the errors of each route by itself;
// checkRoutes compares the routes.
func readRoutes(environment map[string]string, list dialects.List) ([]*route, []error) {
	numbers := map[int]bool{}
	for name, value := range environment {
		if m := routeName.FindStringSubmatch(name); m != nil && value != "" && !fromKubernetes.MatchString(name) {
			n, _ := strconv.Atoi(m[1]) // six digits
			numbers[n] = true
		}
	}
	var routes []*route
	var errs []error
	for n := range numbers {
		r := &route{Agent: Agent{prefix: fmt.Sprintf("%sROUTES_%d_", prefix, n)}, own: map[string]bool{}}
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

// read fills the route from an environment, and returns its errors.
func (r *route) read(environment map[string]string) []error {
	mine := map[string]string{}
	inherited := map[string]bool{}
	for _, v := range r.variables() {
		name := strings.TrimPrefix(v.Name, r.prefix)
		mine[v.Name] = environment[v.Name]
		r.own[v.Name] = mine[v.Name] != ""
		if !r.own[v.Name] && inherits(name) {
			mine[v.Name] = environment[prefix+name]
			inherited[v.Name] = mine[v.Name] != ""
		}
	}
	errs := append(r.routeGroup().Read(mine), r.dialects.Read(mine)...)
	errs = append(errs, r.checkRoute()...)
	return slices.DeleteFunc(errs, func(err error) bool { // the error in an inherited value is reported for the variable without the route's prefix
		name, _, _ := strings.Cut(err.Error(), " ")
		return inherited[strings.TrimSuffix(name, ":")]
	})
}

// checkRoute returns the errors of the route by itself.
func (r *route) checkRoute() []error {
	var errs []error
	for _, one := range []struct {
		name, example string
		missing       bool
	}{
		{"PATH", textWantPath, r.Path == ""},
		{"NAME", textWantName, r.Name == ""},
		{"UPSTREAM", textWantUpstream, !r.own[r.prefix+"UPSTREAM"]},
	} {
		if one.missing {
			errs = append(errs, fmt.Errorf(textRouteNotSet, r.prefix, one.name, one.example))
		}
	}
	if r.Path != "" && r.Path != "/" {
		if err := proxy.CheckPrefix(r.Path); err != nil {
			errs = append(errs, r.routeGroup().Wrong("PATH", err))
		}
		r.path = r.Path
	}
	return append(errs, r.Check()...)
}

// checkRoutes returns the errors in paths and names that two agents share, and in variables that no
// agent uses.
func (s *settings) checkRoutes() []error {
	var errs []error
	if len(s.routes) > 0 && !s.agent.isSet() {
		for _, v := range s.agent.group().Variables() {
			if name := strings.TrimPrefix(v.Name, prefix); !v.IsDefault && !inherits(name) && name != "UPSTREAM" {
				errs = append(errs, s.agent.group().Wrong(name, fmt.Errorf(textUpstreamOnly, s.routes[0].prefix, name)))
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
			errs = append(errs, r.routeGroup().Wrong("PATH", errors.New(textRouteOfAll)))
		case before != "":
			errs = append(errs, r.routeGroup().Wrong("PATH", fmt.Errorf(textSamePath, before)))
		default:
			paths[path] = r.prefix + "PATH"
		}
		if before := names[r.Name]; before != "" && r.Name != "" {
			errs = append(errs, r.routeGroup().Wrong("NAME", fmt.Errorf(textSameName, before)))
		}
		names[r.Name] = r.prefix + "NAME"
	}
	return errs
}

// ofAllRoutes returns the error for a route's variable that can be set for all agents only, or nil
// if name is not such a variable.
func ofAllRoutes(name string, known []variables.Variable) error {
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
