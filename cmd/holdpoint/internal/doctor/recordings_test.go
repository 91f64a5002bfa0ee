package doctor

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/scenario"
)

const recordings = "../../../../testdata"

// A recording is one answer of a backend in the scenarios of testdata.
type recording struct {
	name   string // such as langgraph/approve-py-0.0.42/1.upstream.sse
	family string
	answer Answer
	tools  []byte // tools that the turn's request declares
	asked  string // dialect that asked at the end of the turn, or ""
	env    map[string]string
}

func allRecordings(t *testing.T) []recording {
	t.Helper()
	scenarios, err := scenario.List(recordings, "*")
	if err != nil {
		t.Fatal(err)
	}
	var list []recording
	for _, s := range scenarios {
		if s.Folder() == "langgraph-server" {
			continue // a run there has several answers, and each alone is incomplete
		}
		for turn := 1; turn <= s.Turns; turn++ {
			var request struct {
				Tools json.RawMessage `json:"tools"`
			}
			var kept struct {
				Pause   string `json:"pause"`
				Dialect string `json:"dialect"`
			}
			_ = json.Unmarshal(s.Part(scenario.Request(turn)), &request) // some requests are invalid on purpose
			_ = json.Unmarshal(s.Part(scenario.Store(turn)), &kept)
			for n, part := range s.Answers(turn) {
				r := recording{
					name: s.Name + "/" + scenario.Answer(turn, n+1), family: s.Folder(),
					answer: answerOf(part), tools: request.Tools, env: s.Environment,
				}
				if kept.Pause == "open" {
					r.asked = kept.Dialect
				}
				list = append(list, r)
			}
		}
	}
	return list
}

// stored returns one part of a scenario of testdata. name is FOLDER/SCENARIO/PART, as in
// strands/approve-py/1.upstream.sse.
func stored(t *testing.T, name string) []byte {
	t.Helper()
	at := strings.LastIndex(name, "/")
	s, err := scenario.Read(recordings + "/" + name[:at] + scenario.Ext)
	if err != nil {
		t.Fatal(err)
	}
	b := s.Part(name[at+1:])
	if b == nil {
		t.Fatalf("%s has no %s", name[:at], name[at+1:])
	}
	return b
}

func answerOf(part []byte) Answer {
	r := scenario.ReadAnswer(part)
	a := Answer{Header: r.Header, Body: r.Body, Incomplete: r.Cut}
	if r.Header != nil {
		a.Status = r.Status
	}
	return a
}

// A tally counts the recordings of one folder of testdata. The field told counts the recordings
// whose dialect doctor reports correctly, the field untold those for which it reports no dialect,
// and the field none those that are not a stream of an agent.
type tally struct{ told, untold, none int }

// String returns the tally in the syntax of the map tallies in this file.
func (n tally) String() string {
	return fmt.Sprintf("{told: %d, untold: %d, none: %d}", n.told, n.untold, n.none)
}

// tallies has the expected numbers for each folder of testdata. A run without a question does not
// show its dialect, so it counts as untold. Most of the untold recordings are the last run of a
// thread, after the question was answered.
var tallies = map[string]tally{
	"adk":              {told: 38, untold: 73, none: 1},
	"agent-framework":  {told: 142, untold: 244, none: 5},
	"agno":             {told: 17, untold: 35},
	"agui":             {told: 72, untold: 74, none: 1},
	"auto":             {told: 11, untold: 17},
	"aws-strands":      {told: 56, untold: 94, none: 3},
	"contract":         {told: 71, untold: 82, none: 10},
	"draft":            {told: 23, untold: 37},
	"langgraph":        {told: 86, untold: 82, none: 1},
	"mastra":           {untold: 18},
	"phrases":          {untold: 47},
	"request-approval": {told: 33, untold: 41, none: 2},
	"strands":          {told: 113, untold: 17, none: 2},
	"superagent":       {told: 41, untold: 24, none: 9},
	"tool-call":        {untold: 61},
}

// otherwise lists recordings whose first turn asks a question, but for which doctor reports another
// dialect ("agui") or no dialect (""), because it does not have the variables of the scenario. In
// some of them the backend refuses a run because its thread still waits for an answer. Doctor takes
// such a refusal as a question only if it also knows the history in the request.
var otherwise = map[string]string{
	"agent-framework/dotnet-input/1.upstream.sse":                "agui",
	"agent-framework/dotnet-input-auto/1.upstream.sse":           "agui",
	"draft/tool-call-two/1.upstream.sse":                         "",
	"agent-framework/lost-question-history-1.7.0/1.upstream.sse": "",
	"aws-strands/lost-question-gate-py/1.upstream.sse":           "",
	"adk/job/1.upstream.sse":                                     "",
	"adk/job-cancel/1.upstream.sse":                              "",
	"mastra/again/1.upstream.sse":                                "",
	"mastra/approve/1.upstream.sse":                              "",
	"mastra/approve-1.1.2/1.upstream.sse":                        "",
	"mastra/cancel/1.upstream.sse":                               "",
	"mastra/deny/1.upstream.sse":                                 "",
	"mastra/two/1.upstream.sse":                                  "",
	"mastra/failed-tool/1.upstream.sse":                          "agui",
	"mastra/suspended/1.upstream.sse":                            "agui",
	"strands/asked-what-py/1.upstream.sse":                       "",
}

// TestRecordings: for a recording, doctor may report the dialect that asks in it, or no dialect,
// but never a wrong one. For the recordings in the map otherwise it must report what the map says.
// In every other recording whose first turn asks a question, it must report the dialect. Two kinds
// are exempt: a stream that is cut off, and a stream that only the scenario's variables turn into a
// question.
func TestRecordings(t *testing.T) {
	got := map[string]tally{}
	for _, r := range allRecordings(t) {
		report, err := Examine(t.Context(), r.answer, Options{Tools: r.tools, ProtocolVersion: "1.0"})
		if err != nil {
			t.Fatalf("%s: %v", r.name, err)
		}
		n := got[r.family]
		other, exempt := otherwise[r.name]
		switch {
		case report.Verdict == NoStream:
			n.none++
		case exempt:
			if report.Dialect != other {
				t.Errorf("%s: told as %q, want %q", r.name, report.Dialect, other)
			}
			if other == "" {
				n.untold++
			}
		case report.Dialect == "":
			n.untold++
			first := strings.HasSuffix(r.name, "/1.upstream.sse") && r.env["HOLDPOINT_PHRASES_ASK"] == "" && !strings.Contains(r.env["HOLDPOINT_TOOLS"], "=approval") && !r.answer.Incomplete
			if r.asked != "" && first {
				t.Errorf("%s: %s asks, and that is not told", r.name, r.asked)
			}
		case r.dialect() != "" && report.Dialect != r.dialect():
			t.Errorf("%s: told as %q, want %q", r.name, report.Dialect, r.dialect())
		default:
			n.told++
		}
		got[r.family] = n
		switch {
		case r.asked == "" || report.Dialect != r.asked:
		case len(report.Questions) == 0:
			t.Errorf("%s: told as %s without a question: %+v", r.name, r.asked, report)
		case report.Support == nil:
			t.Errorf("%s: told as %s without a section of docs/support.md; TestSupport says what to add", r.name, r.asked)
		}
		total := 0
		for _, c := range report.Events {
			if total += c.Received; c.Passed+c.Rewritten+c.Dropped != c.Received {
				t.Errorf("%s: %+v does not add up", r.name, c)
			}
		}
		if report.Verdict != NoStream && report.Setting == "auto" && total != report.Answer.Events {
			t.Errorf("%s: %d of %d events are told", r.name, total, report.Answer.Events)
		}
		frameworkIsRight(t, r, report)
	}
	for family, n := range got {
		if want, has := tallies[family]; !has {
			t.Errorf("recordings_test.go: add to tallies, if doctor should recognize so many of the recordings: %q: %v,", family, n)
		} else if n != want {
			t.Errorf("%s: %v, want %v in tallies", family, n, want)
		}
	}
	for family := range tallies {
		if _, has := got[family]; !has {
			t.Errorf("tallies has %q, and testdata has no recording of it", family)
		}
	}
}

// dialect returns the only dialect that doctor may report for the recording, or "" if several
// dialects are right.
func (r recording) dialect() string {
	switch {
	case r.asked != "":
		return r.asked
	case r.family == "contract" || r.family == "auto":
		return ""
	}
	return r.family
}

// version matches the package's version in the name of a scenario, such as -py-0.0.47, -1.7.0, -rc7
// or -b260219.
var version = regexp.MustCompile(`-(?:(py|ts)-)?(\d+\.\d+\.\d+|rc\d|b\d{6})(?:-|/)`)

// frameworkIsRight checks the framework and the version in the report against the name of the
// scenario.
func frameworkIsRight(t *testing.T, r recording, report *Report) {
	t.Helper()
	if made := r.framework(); made != "" && report.Framework.Name != "" &&
		report.Framework.Name != made && report.Framework.Name != sections["agui"] {
		t.Errorf("%s: told as %s", r.name, report.Framework.Name)
	}
	m := version.FindStringSubmatch(r.name)
	if m == nil || report.Framework.Versions == "" {
		return
	}
	told := report.Framework.Versions
	var ok bool
	switch {
	case r.family == "langgraph":
		ok = (m[2] >= "0.0.43" || !strings.Contains(told, "or later")) && (m[2] < "0.0.43" || !strings.Contains(told, "up to")) &&
			(m[1] == "py" || !strings.Contains(told, "Python")) && (m[1] == "ts" || !strings.Contains(told, "TypeScript"))
	case m[2] == "rc8" || m[2] == "1.7.0":
		ok = strings.Contains(told, "rc8 or later") || report.Questions == nil
	case m[2] == "rc7" || m[2] >= "b260225":
		ok = strings.Contains(told, "b260225 to 1.0.0rc7")
	case m[2] >= "b260114":
		ok = strings.Contains(told, "b260114 to b260219")
	default:
		ok = strings.Contains(told, "up to 1.0.0b260219")
	}
	if !ok {
		t.Errorf("%s: version told as %q", r.name, told)
	}
}

// framework returns the framework that made the recording, or "" if the name of the scenario does
// not show the framework.
func (r recording) framework() string {
	scenario := strings.TrimPrefix(r.name, r.family+"/")
	for _, one := range []struct{ begins, name string }{
		{"adk-", "Google ADK"}, {"ag2-", "AG2"}, {"crewai", "CrewAI"}, {"mastra", "Mastra"},
		{"pydantic-ai-", "pydantic-ai"}, {"agno", "agno"}, {"tanstack-", "TanStack AI"},
	} {
		if strings.HasPrefix(scenario, one.begins) && r.family != "langgraph" && !strings.Contains(scenario, "langgraph") {
			return one.name
		}
	}
	switch r.family {
	case "agui", "draft", "auto", "contract", "phrases", "tool-call": // made by several frameworks
		return ""
	}
	return sections[r.family]
}

// TestVersionsByTheOutcome: the maps testedVersions and announcedVersions have texts for
// frameworks. In the report of some recording of the framework, the text must stand as the version.
// It must not stand in the report of a recording without a question.
func TestVersionsByTheOutcome(t *testing.T) {
	told := map[string]int{}
	for _, r := range allRecordings(t) {
		made := r.framework()
		if testedVersions[made] == "" {
			continue
		}
		report, err := Examine(t.Context(), r.answer, Options{Tools: r.tools, ProtocolVersion: "1.0"})
		if err != nil {
			t.Fatalf("%s: %v", r.name, err)
		}
		switch said := report.Framework.Versions; said {
		case testedVersions[made], announcedVersions[made]:
			if said == "" {
				break
			}
			if told[said]++; len(report.Questions) == 0 {
				t.Errorf("%s: a version without a question", r.name)
			}
		case "":
		default:
			t.Errorf("%s: version told as %q", r.name, report.Framework.Versions)
		}
	}
	for _, list := range []map[string]string{testedVersions, announcedVersions} {
		for made, said := range list {
			if told[said] == 0 {
				t.Errorf("%s: no recording tells its version", made)
			}
		}
	}
}

// TestMarks: each mark (an event that only one framework sends) must appear in some recording of
// its framework, and in no recording of another framework.
func TestMarks(t *testing.T) {
	list := allRecordings(t)
	known := map[string]int{}
	for _, r := range list {
		known[r.framework()]++
	}
	for _, m := range marks {
		n := 0
		for _, r := range list {
			a := r.answer
			a.Header = withType(a)
			if !slices.ContainsFunc(readStream(a).events, m.matches) {
				continue
			}
			n++
			if made := r.framework(); made != "" && made != m.framework {
				t.Errorf("%s by %s: %s shows it, and %s made that", m.framework, m.description, r.name, made)
			}
		}
		if n == 0 {
			t.Errorf("%s by %s: no recording shows it", m.framework, m.description)
		}
		if known[m.framework] == 0 {
			t.Errorf("%s: no recording is known to be its own", m.framework)
		}
	}
}

// TestTooOld: Holdpoint refuses the questions of a backend that is too old. Then the report must
// name the version that is needed, and must not name a setting that would let the tool run unasked.
func TestTooOld(t *testing.T) {
	n := 0
	for _, r := range allRecordings(t) {
		if !strings.HasPrefix(r.name, "agent-framework/too-old-b") || !strings.HasSuffix(r.name, "/1.upstream.sse") {
			continue
		}
		n++
		report, err := Examine(t.Context(), r.answer, Options{Tools: r.tools})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := report.Print(&text); err != nil {
			t.Fatal(err)
		}
		if report.Verdict != CannotTranslate || len(report.Failures) != 1 || !strings.Contains(report.Failures[0], "install 1.0.0rc7 or later") || strings.Contains(text.String(), "HOLDPOINT_TOOLS") {
			t.Errorf("%s: told\n%s", r.name, text.String())
		}
	}
	if n != 3 && !testing.Short() {
		t.Errorf("%d recordings", n)
	}
}
