package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/variables"
	"holdpoint/translate/dialects"
)

var update = flag.Bool("update", false, "rewrite the tables in docs/configuration.md and docs/routes.md")

// all returns every variable that docs/configuration.md lists.
func all() []variables.Variable { return newSettings(dialects.All()).referenceVariables() }

// markdownTable returns the table of docs/configuration.md that lists these variables.
func markdownTable(list []variables.Variable) string {
	var b strings.Builder
	b.WriteString("| Variable | Default | What it does |\n|---|---|---|\n")
	for _, v := range list {
		fallback := defaultText(v)
		if v.Default != "" {
			fallback = "`" + fallback + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", v.Name, fallback, strings.ReplaceAll(description(v), "|", `\|`))
	}
	return b.String()
}

// TestConfigurationTable compares the table in docs/configuration.md with the tags of the settings'
// fields. With -update it writes the table between the two lines `<!-- variables -->`.
func TestConfigurationTable(t *testing.T) {
	const file, marker = "../../docs/configuration.md", "<!-- variables -->"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("no document to compare with: %v", err)
	}
	parts := strings.Split(string(text), marker)
	if len(parts) != 3 {
		t.Fatalf("%s: want two markers %s around the table of variables, got %d", file, marker, len(parts)-1)
	}
	if got, want := strings.TrimSpace(parts[1]), strings.TrimSpace(markdownTable(all())); got != want {
		if *update {
			parts[1] = "\n" + want + "\n"
			if err := os.WriteFile(file, []byte(strings.Join(parts, marker)), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Errorf("%s: the table differs from the tags (go test ./cmd/holdpoint -run TestConfigurationTable -update); between the markers must stand\n\n%s", file, want)
	}
}

// TestRouteVariables compares the list in docs/routes.md with the variables that can be set for a
// route. With -update it writes the list between the two lines `<!-- route variables -->`.
func TestRouteVariables(t *testing.T) {
	const file, marker = "../../docs/routes.md", "<!-- route variables -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), marker)
	if len(parts) != 3 {
		t.Fatalf("%s: want two markers %s", file, marker)
	}
	r := &route{Agent: Agent{prefix: "R_"}}
	own, options := []string{}, []string{}
	for _, v := range r.routeGroup().Variables() {
		if v.Name != "R_PATH" {
			own = append(own, "`"+strings.TrimPrefix(v.Name, "R_")+"`")
		}
	}
	for _, v := range dialects.All().WithPrefix("R_").Variables() {
		options = append(options, "`"+strings.TrimPrefix(v.Name, "R_")+"`")
	}
	want := "\n" + wrap("- of the agent: "+strings.Join(own, ", "), "", "  ", 100) + wrap("- of dialects: "+strings.Join(options, ", "), "", "  ", 100) + "\n"
	if parts[1] == want {
		return
	}
	if !*update {
		t.Fatalf("%s: between the markers must stand (go test ./cmd/holdpoint -run RouteVariables -update)\n%s", file, want)
	}
	parts[1] = want
	if err := os.WriteFile(file, []byte(strings.Join(parts, marker)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestReferenceIsComplete(t *testing.T) {
	for _, v := range all() {
		switch {
		case v.Doc == "":
			t.Errorf("%s has no tag doc", v.Name)
		case strings.HasSuffix(v.Doc, "."):
			t.Errorf("%s: doc ends in a full stop: %q", v.Name, v.Doc)
		case kubernetesVariable.MatchString(v.Name):
			t.Errorf("%s is a name that Kubernetes injects for some Service, so it would be ignored in a pod", v.Name)
		}
	}
	// These names are a stable interface, so none of them may be renamed by accident.
	for name := range strings.FieldsSeq(`UPSTREAM LISTEN DIALECT CLIENT STORE STORE_ENTRIES INTERRUPT_TTL PAUSE_RETENTION
		REPLAY_TTL MAX_REQUEST_BYTES MAX_FRAME_BYTES TRANSCRIPT_BYTES STREAM_IDLE_TIMEOUT HEARTBEAT UPSTREAM_HEADERS_FILE
		PRESERVE_HOST LOG_LEVEL LOG_FORMAT AWS_STRANDS_RULES_FILE TOOLS CANCEL
		PHRASES_ASK PHRASES_YES PHRASES_NO SUPERAGENT_AGENT_ID STRANDS_FILE STORE_OUTAGE ON_DISCONNECT
		NAME TENANT_HEADER PRINCIPAL_HEADER TRUSTED_PEERS JWT_ISSUER JWT_AUDIENCE JWT_JWKS_URL JWT_CLAIM
		PRINCIPAL_KEY PRINCIPAL_KEY_FILE THREAD_NAMESPACE ADMIN_LISTEN PPROF DRAIN_DELAY DRAIN_TIMEOUT`) {
		if !strings.Contains(markdownTable(all()), "| `HOLDPOINT_"+name+"` |") {
			t.Errorf("HOLDPOINT_%s is gone", name)
		}
	}
}

// shortMost is the largest number of variables that `holdpoint -h` may show.
const shortMost = 15

// usedVariable matches a line of `holdpoint -h` that describes a variable.
var usedVariable = regexp.MustCompile(`(?m)^  (HOLDPOINT_[A-Z0-9_]+)\b(.*)$`)

// TestUsageIsShort: `holdpoint -h` must show only the variables that a beginner needs, each in one
// line, and the list of topics.
func TestUsageIsShort(t *testing.T) {
	t.Logf("%d variables in all", len(all()))
	for _, args := range [][]string{{"-h"}, {"help"}, {"run", "-h"}} {
		stdout, _, code := holdpoint(t, nil, args...)
		shown := usedVariable.FindAllStringSubmatch(stdout, -1)
		if code != exitOK || len(shown) == 0 || len(shown) > shortMost {
			t.Errorf("%q: exit %d, %d variables, want at most %d", args, code, len(shown), shortMost)
		}
		if left := fmt.Sprintf("There are %d more.", len(all())-len(shown)); !strings.Contains(stdout, left) {
			t.Errorf("%q: no %q", args, left)
		}
		for line := range strings.Lines(stdout) {
			if len(line) > 106 || strings.HasPrefix(line, "  HOLDPOINT_") && len(strings.Fields(line)) < 3 {
				t.Errorf("%q: %q", args, line)
			}
		}
		for _, word := range topicWords(newSettings(dialects.All())) {
			if !strings.Contains(stdout, "\n  "+word+" ") {
				t.Errorf("%q: no topic %s", args, word)
			}
		}
	}
}

// TestTopicsOfUsage: `holdpoint -h TOPIC` shows the variables of a topic. Each variable must be in
// exactly one topic.
func TestTopicsOfUsage(t *testing.T) {
	told := map[string]string{}
	for _, word := range topicWords(newSettings(dialects.All())) {
		stdout, _, code := holdpoint(t, nil, "-h", word)
		if help, _, _ := holdpoint(t, nil, "help", word); help != stdout || code != exitOK {
			t.Errorf("%s: exit %d, or help says something else", word, code)
		}
		for _, m := range usedVariable.FindAllStringSubmatch(stdout, -1) {
			if before := told[m[1]]; before != "" {
				t.Errorf("%s is told under %s and %s", m[1], before, word)
			}
			told[m[1]] = word
		}
	}
	for _, v := range all() {
		if told[v.Name] == "" {
			t.Errorf("%s has no topic", v.Name)
		}
	}
	for _, v := range dialects.All().Variables() {
		if told[v.Name] != optionsTopic {
			t.Errorf("%s is told under %s", v.Name, told[v.Name])
		}
	}
	_, stderr, code := holdpoint(t, nil, "-h", "weather")
	if code != exitMisuse || !strings.Contains(stderr, `there is no topic "weather", want one of agent, listen, store`) {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

// TestCheckShowsWhatIsSet: check must print the warnings, and of the variables only those that are
// set. check -all must print all variables.
func TestCheckShowsWhatIsSet(t *testing.T) {
	environ := []string{upstream, "HOLDPOINT_HEARTBEAT=20s", "HOLDPOINT_PRINCIPAL_HEADER=", "HOLDPOINT_KEEP_ALIVE=2m"}
	stdout, _, code := holdpoint(t, environ, "check")
	var names []string
	for _, line := range strings.Split(stdout, "\n") {
		if strings.HasPrefix(line, "HOLDPOINT_") {
			names = append(names, strings.Fields(line)[0])
		}
	}
	if code != exitOK || !slices.Equal(names, []string{"HOLDPOINT_UPSTREAM", "HOLDPOINT_HEARTBEAT"}) {
		t.Errorf("exit %d, %q", code, names)
	}
	for _, want := range []string{"warning: Holdpoint knows no users", "warning: the store is in memory"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in %s", want, stdout)
		}
	}
	everything, _, code := holdpoint(t, environ, "check", "-all")
	// The loop does not include the injector's variables, which `holdpoint check inject` prints.
	for _, v := range newSettings(dialects.All()).variables() {
		if shown := strings.Contains(everything, v.Name+" "); code != exitOK || shown != (v.Name != routeVariable.Name) {
			t.Errorf("exit %d, %s is shown: %v", code, v.Name, shown)
		}
	}
	if _, stderr, code := holdpoint(t, environ, "run", "-all"); code != exitMisuse || !strings.Contains(stderr, "-all is an option of check only") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}
