package main

import (
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/variables"
	"holdpoint/translate/dialects"
)

var update = flag.Bool("update", false, "rewrite the package comment in main.go and the table in docs/configuration.md")

// all are the variables that there are.
func all() []variables.Variable { return newSettings(dialects.All()).variables() }

// TestConfigurationTable compares the table in docs/configuration.md with the struct. The table
// stands between two lines `<!-- variables -->`. With -update the test writes it.
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
		t.Errorf("%s: the table differs from the tags (go test ./cmd/holdpoint -run 'TestPackageComment|TestConfigurationTable' -update); between the markers must stand\n\n%s", file, want)
	}
}

// TestPackageComment compares the section "Environment" of the package comment with the struct.
// With -update it writes it.
func TestPackageComment(t *testing.T) {
	const file, heading, end = "main.go", "// # Environment\n//\n", "//\n// # "
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), heading)
	section, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s: no section Environment, with another behind it, in the package comment", file)
	}
	if section != commentList(all()) {
		if *update {
			if err := os.WriteFile(file, []byte(before+heading+commentList(all())+end+after), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Errorf("%s: the section Environment differs from the tags (go test ./cmd/holdpoint -run 'TestPackageComment|TestConfigurationTable' -update); want\n%s", file, commentList(all()))
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil || !strings.Contains(f.Doc.Text(), "# Environment") {
		t.Errorf("%s: the section is not in the package comment (%v)", file, err)
	}
}

// TestRouteVariables compares docs/routes.md with what a route can have for itself. With -update it
// writes the list between the two lines `<!-- route variables -->`.
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
	for _, v := range dialects.All().Anew("R_").Variables() {
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
		case fromKubernetes.MatchString(v.Name):
			t.Errorf("%s is a name that Kubernetes injects for some Service, so it would be ignored in a pod", v.Name)
		}
	}
	// The names of the issue, so that none is renamed by accident: they are the stable surface.
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

// most is how many variables there are. Each is a promise for good, so the number goes down, unless
// something new cannot be said otherwise: STORE_RECORD_BYTES, STORE_KEYS, STORE_KEYS_FILE and
// STORE_REPLICAS came with the stores that outlive the process, STORE_OUTAGE and ON_DISCONNECT with
// several replicas, STORE_PASSWORD_FILE with stores that others can reach. Whose thread it is took
// eleven: a name, a tenant, and a principal by a header or by a token. These two have nothing in
// common that one file could hold. Where probes are and how long the end takes are four. The
// audit is four: where it goes, what it holds, whether it must, and how it and the log name a user.
// Connections are sixteen: three files of TLS to each side and a name, HTTP/2 on each side, six
// bounds that depend on what stands in front, and what to do about underscores in headers. Those of
// routes are the ones that one agent has, and count as one: their path. The webhook is seven: where
// it goes, which events, with their content or not, in which form, two for its secret, and whether
// it may go inside. The desk is seven: where it is, how a caller says who it is, two for its
// tokens, and three for what Holdpoint does by itself: how late, as whom, and with which tools. Who
// has which rights is one file, which rules about questions will go into too. Who comes to it by
// somebody else's word is six: two names of headers or claims, whose word it is, and three of an
// issuer. They are not those of the chats: who asks must not be who answers.
// Which calls of ADK wait for a person is one: nothing on the wire says it.
// LangGraph's own server is two: which graph it is to run, and what that gets for a cancel.
// Which of several processes carries a decision is one.
// Of which kind agno's calls are is two: nothing on the wire says it.
// A backend that asks by a plain call is three: which calls, and what a yes and a no look like.
// Nothing on the wire says it.
// Two times depend on the backend: how long its connections are kept, and how long a silent resume.
// Where the desk is for a person's browser is one, and what else reaches the own servers of
// LangGraph and of superagent are two.
// What a yes and a no are to an agent that takes any value is one. Nothing on the wire says it.
// Whether a backend keeps the conversation is one. Nothing on the wire says it: a client of new
// messages only and a chat that begins anew send the same.
// Each secret has its file, which added two: the password of the store in a variable, and the
// webhook's address in a file. One map says the kinds of tools for all dialects, and one variable
// what a cancel is, which took eight others.
const most = 38 + 11 + 4 + 4 + 16 + 1 + 7 + 7 + 1 + 6 + 1 + 2 + 1 + 2 + 3 + 2 + 3 + 1 + 1 + 2 - 8 + 2

func TestVariablesGetFewer(t *testing.T) {
	switch n := len(all()); {
	case n > most:
		t.Errorf("%d variables, at most %d: put what is one table into one file, and leave out what nobody needs", n, most)
	case n < most:
		t.Errorf("%d variables are fewer than %d: set most to that", n, most)
	}
}

// shortMost is how many variables plain `holdpoint -h` shows.
const shortMost = 15

// usedVariable is a line of `holdpoint -h` about a variable.
var usedVariable = regexp.MustCompile(`(?m)^  (HOLDPOINT_[A-Z0-9_]+)\b(.*)$`)

// TestUsageIsShort: `holdpoint -h` shows what a beginner needs, a line each, and the topics.
func TestUsageIsShort(t *testing.T) {
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

// TestTopicsOfUsage: each variable is told under one topic.
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

// TestCheckShowsWhatIsSet: check shows what is set and what follows, check -all everything.
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
	for _, v := range all() {
		if shown := strings.Contains(everything, v.Name+" "); code != exitOK || shown != (v.Name != routeVariable.Name) {
			t.Errorf("exit %d, %s is shown: %v", code, v.Name, shown)
		}
	}
	if _, stderr, code := holdpoint(t, environ, "run", "-all"); code != exitMisuse || !strings.Contains(stderr, "-all is an option of check only") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}
