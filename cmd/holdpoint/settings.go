package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"

	"holdpoint/internal/desk"
	"holdpoint/internal/edge/admin"
	"holdpoint/internal/edge/front"
	"holdpoint/internal/observe/audit"
	"holdpoint/internal/observe/webhook"
	"holdpoint/internal/principal"
	"holdpoint/internal/variables"
	"holdpoint/proxy"
	"holdpoint/store/stores"
	"holdpoint/translate/dialects"
)

// settings has the settings of all parts of the program. The variables of a part are in the part's
// package, and so are the checks of each single variable. Checks that compare variables of several
// parts are in checks.go.
//
// The reference (`holdpoint -h` and the table in docs/configuration.md) is made from the tags of
// these structs.
type settings struct {
	agent    Agent // the agent of HOLDPOINT_UPSTREAM
	routes   []*route
	dialects dialects.List
	front    front.Settings
	admin    admin.Settings
	store    stores.Settings
	memory   memorySettings
	runs     proxy.Settings
	shutdown shutdownSettings
	identity principal.Settings
	desk     desk.Settings
	log      logSettings
	audit    audit.Settings
	webhook  webhook.Settings

	deskOnly bool     // the settings are for `holdpoint desk`
	ignored  []string // names of variables that Kubernetes sets by itself
}

// A topic is a section of the reference of variables.
type topic struct {
	word    string // the argument of `holdpoint -h` that names the topic
	heading string
	parts   []any // pointers to structs of variables (package variables)
}

// topics returns the topics of the proxy and the desk, in the order of the reference. The settings
// are checked in the same order.
func (s *settings) topics() []topic {
	return []topic{
		{"agent", topicAgent, []any{&s.agent}},
		{"listen", topicListen, []any{&s.front, &s.admin}},
		{"store", topicStore, []any{&s.store}},
		{"runs", topicRuns, []any{&s.memory, &s.runs, &s.shutdown}},
		{"who", topicWho, []any{&s.identity}},
		{"desk", topicDesk, []any{&s.desk}},
		{"observe", topicObserve, []any{&s.log, &s.audit, &s.webhook}},
	}
}

// groups returns the groups of variables of all topics.
func (s *settings) groups() (groups []variables.Group) {
	for _, t := range s.topics() {
		groups = append(groups, groupsOf(t)...)
	}
	return groups
}

func groupsOf(t topic) (groups []variables.Group) {
	for _, part := range t.parts {
		groups = append(groups, variables.Group{Prefix: prefix, Options: part})
	}
	return groups
}

// variableError returns the error for the value of a variable. The parameter name has no prefix.
func (s *settings) variableError(name string, err error) error {
	for _, g := range s.groups() {
		if g.Has(name) {
			return g.ErrorFor(name, err)
		}
	}
	return fmt.Errorf("%s%s: %w", prefix, name, err)
}

// variableErrorf is like variableError, with the text of the error as a format.
func (s *settings) variableErrorf(name, format string, args ...any) error {
	return s.variableError(name, fmt.Errorf(format, args...))
}

// newSettings returns the settings for an empty environment, with all defaults. They are not valid,
// because required variables are missing.
func newSettings(list dialects.List) *settings {
	s := &settings{dialects: list, agent: Agent{prefix: prefix, dialects: list}}
	for _, g := range s.groups() {
		g.Read(nil)
	}
	return s
}

// load reads the settings from environ, which has the form of os.Environ, and the options of the
// dialects into list. Its error joins all errors in the environment, one line for each.
func load(environ []string, list dialects.List) (*settings, error) {
	return loadFor(environ, list, false, nil)
}

// loadFor is like load. If deskOnly is set, it reads the settings of `holdpoint desk`, which has no
// agent. The parameter container is the root of the file system from which the memory limit of the
// container is read. If it is nil, that limit is ignored.
func loadFor(environ []string, list dialects.List, deskOnly bool, container fs.FS) (*settings, error) {
	environment := env.ToMap(environ)
	s := newSettings(list)
	s.deskOnly = deskOnly
	var errs []error
	s.memory.read(environment, container)
	environment = s.memory.withBounds(environment, s.variables())
	for _, g := range s.groups() {
		errs = append(errs, g.Read(environment)...)
	}
	errs = append(errs, list.Read(environment)...)
	s.admin.IsSet = environment[prefix+"ADMIN_LISTEN"] != ""
	routes, routeErrs := readRoutes(environment, list)
	s.routes = routes
	if environment[prefix+"UPSTREAM"] == "" && len(routes) == 0 && !deskOnly {
		errs = append(errs, errors.New(textNoUpstream))
	}
	for _, g := range s.groups() {
		if _, is := g.Options.(*Agent); !is || s.agent.isSet() || len(routes) == 0 {
			errs = append(errs, g.Check()...)
		}
	}
	errs = slices.Concat(errs, s.checkAcross(), routeErrs, s.checkRoutes())
	known := s.knownVariables()
	unknown, injected := ownNames(environment, known)
	for _, name := range unknown {
		errs = append(errs, unknownName(name, known))
	}
	s.ignored = injected
	for i := range errs {
		errs[i] = fmt.Errorf("config: %w", errs[i])
	}
	return s, errors.Join(errs...)
}

// variables returns all variables of the process: the variables of the topics, routeVariable for
// all routes, and the options of the dialects.
func (s *settings) variables() (list []variables.Variable) {
	for _, t := range s.topics() {
		list = append(list, s.variablesOf(t)...)
	}
	return append(list, s.dialects.Variables()...)
}

// variablesOf returns the variables of a topic.
func (s *settings) variablesOf(t topic) (list []variables.Variable) {
	for _, g := range groupsOf(t) {
		list = append(list, g.Variables()...)
		if g.Options == any(&s.agent) {
			list = append(list, routeVariable)
		}
	}
	for i := range list {
		if list[i].Name == prefix+"DIALECT" {
			list[i].Values = s.dialects.Names()
		}
	}
	return list
}

// agents returns the agents that the process serves.
func (s *settings) agents() []*Agent {
	var list []*Agent
	if s.agent.isSet() || len(s.routes) == 0 {
		list = append(list, &s.agent)
	}
	for _, r := range s.routes {
		list = append(list, &r.Agent)
	}
	return list
}

// agentNames returns the names of the agents that the process serves.
func (s *settings) agentNames() []string {
	var names []string
	for _, a := range s.agents() {
		names = append(names, a.Name)
	}
	return names
}

// knownVariables returns all variables that may be set: the variables of the process, and the
// variables of each route.
func (s *settings) knownVariables() []variables.Variable {
	list := s.variables()
	for _, r := range s.routes {
		list = append(list, r.variables()...)
	}
	return list
}

// warnBounds logs a warning for each combination of bounds that is allowed but rarely intended.
func (s *settings) warnBounds(logger *slog.Logger) {
	if !s.store.InMemory() && s.runs.AddressShare.Hundredths() != 0 {
		logger.Warn(logAddressShare)
	}
	if s.runs.MaxFrameBytes < s.runs.MaxRequestBytes {
		logger.Warn(logSmallFrames, "max_frame_bytes", s.runs.MaxFrameBytes.String(), "max_request_bytes", s.runs.MaxRequestBytes.String())
	}
}

// A setting is a variable with the value that is in effect, without secrets.
type setting struct {
	name, value string
	isDefault   bool
	inherited   bool   // a route has taken the value from the variable with the prefix HOLDPOINT_
	derivedFrom string // what the value is derived from, if the variable is not set
}

func (s setting) String() string {
	switch {
	case s.value == "":
		return "(none)"
	case s.derivedFrom != "":
		return s.value + " (" + s.derivedFrom + ")"
	case s.inherited:
		return fmt.Sprintf(textForAll, s.value)
	case s.isDefault:
		return s.value + " (default)"
	}
	return s.value
}

// settings returns the variables with the values that are in effect. A header file is shown only by
// the names of its headers. For a route, settings returns the variables of an agent, and the
// options of dialects that are set for the route itself.
func (s *settings) settings() []setting {
	var list []setting
	for _, v := range s.variables() {
		if v.Name != routeVariable.Name {
			one := settingOf(&s.agent, v)
			one.derivedFrom = s.memory.originOf(v.Name)
			list = append(list, one)
		}
	}
	for _, r := range s.routes {
		for _, v := range r.routeGroup().Variables() {
			one := settingOf(&r.Agent, v)
			one.inherited = !r.ownVariables[v.Name] && !one.isDefault
			list = append(list, one)
		}
		for _, v := range r.dialects.Variables() {
			if r.ownVariables[v.Name] {
				list = append(list, settingOf(&r.Agent, v))
			}
		}
	}
	return list
}

func settingOf(a *Agent, v variables.Variable) setting {
	s := setting{name: v.Name, value: v.Value, isDefault: v.IsDefault}
	if v.Name == a.prefix+"UPSTREAM_HEADERS_FILE" && s.value != "" {
		s.value += " " + headerNames(a)
	}
	return s
}

func headerNames(a *Agent) string {
	return "(" + strings.Join(slices.Sorted(maps.Keys(a.headers)), ", ") + ")"
}
