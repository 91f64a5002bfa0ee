package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"holdpoint/internal/variables"
)

// prefix begins the name of every variable of Holdpoint.
const prefix = "HOLDPOINT_"

// ownNames returns the names in the environment that begin with prefix and are not in list, sorted.
// The slice injected has the names that Kubernetes sets by itself, and unknown has the rest.
func ownNames(environment map[string]string, list []variables.Variable) (unknown, injected []string) {
	known := map[string]bool{}
	for _, v := range list {
		known[v.Name] = true
	}
	for name := range environment {
		switch {
		case !strings.HasPrefix(name, prefix) || known[name]:
		case kubernetesVariable.MatchString(name):
			injected = append(injected, name)
		default:
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	slices.Sort(injected)
	return unknown, injected
}

// kubernetesVariable matches the variables that Kubernetes sets in every pod of a namespace with a
// Service called holdpoint: HOLDPOINT_SERVICE_HOST, HOLDPOINT_SERVICE_PORT,
// HOLDPOINT_SERVICE_PORT_HTTP, HOLDPOINT_PORT, HOLDPOINT_PORT_7080_TCP and so on. Kubernetes does
// not set them if the pod's enableServiceLinks is false.
var kubernetesVariable = regexp.MustCompile(`_SERVICE_HOST$|_SERVICE_PORT(_.*)?$|_PORT$|_PORT_[0-9]+_`)

// removedVariables maps each variable of earlier versions, without prefix, to a text that says what
// to set instead. If such a variable is set, also for a route, the start fails with that text. The
// first release, v0.1.0, starts with an empty map.
var removedVariables = map[string]string{
	"ADK_ASK":                 textNowExternal,
	"AGNO_INPUT":              textNowInput,
	"AGNO_EXTERNAL":           textNowExternal,
	"DRAFT_APPROVAL_TOOLS":    textNowApproval,
	"TOOL_CALL_ASK":           textNowApproval,
	"LANGGRAPH_CANCEL":        textNowCancel,
	"LANGGRAPH_SERVER_CANCEL": textNowCancel,
	"DRAFT_CANCEL":            textNowCancel,
}

// unknownName returns the error for a variable that is not in list.
func unknownName(name string, list []variables.Variable) error {
	if remedy, ok := removedVariables[strings.TrimPrefix(strings.TrimPrefix(name, routeName.FindString(name)), prefix)]; ok {
		return fmt.Errorf(textRemoved, name, remedy)
	}
	if slices.ContainsFunc(injectVariables(), func(v variables.Variable) bool { return v.Name == name }) {
		return fmt.Errorf(textInjectOnly, name)
	}
	if err := checkNotForRoute(name, list); err != nil {
		return err
	}
	return fmt.Errorf(textUnknown, name, nearest(name, list))
}

// nearest returns the name in list with the smallest edit distance to the parameter name. Of
// several names with that distance, it returns one that begins with the parameter name if there is
// one.
func nearest(name string, list []variables.Variable) string {
	return slices.MinFunc(list, func(a, b variables.Variable) int {
		return cmp.Or(cmp.Compare(distance(name, a.Name), distance(name, b.Name)), cmp.Compare(prefixDistance(name, a), prefixDistance(name, b)))
	}).Name
}

// prefixDistance returns 0 if the name of the variable v begins with the parameter name, and 1
// otherwise.
func prefixDistance(name string, v variables.Variable) int {
	if strings.HasPrefix(v.Name, name) {
		return 0
	}
	return 1
}

// distance returns the number of edits that turn a into b. An edit inserts, drops or replaces a
// letter, or swaps two neighbors (optimal string alignment).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
