package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "holdpoint"

// A place is a pattern for folders (see path.Match). The field "may" lists the packages of this
// repository that code in these folders may import. The first place that matches a folder counts.
// Tests may import more packages, because they combine several parts.
type place struct {
	pattern string
	may     []string
	why     string // the reason why other imports are not allowed
}

var places = []place{
	{"internal/agui", nil, "the vocabulary of the wire is below everything: what it imported, everything would import"},
	{"internal/sse", []string{"internal/build/poison", "internal/build/without"}, "framing knows bytes, not what they mean; so it can be read, fuzzed and trusted alone"},
	{"internal/build/poison", nil, "it overwrites bytes, whoever's they are"},
	{"internal/build/without", nil, "it is constants, for builds that are only measured"},
	{"internal/scenario", nil, "it reads and writes files of wires, and knows none of what plays them"},
	{"internal/variables", nil, "it reads whatever struct it is given, the binary's and the dialects' by the same rules"},
	{"internal/tanstack", []string{"internal/agui"}, "how a client binds a question to a run has nothing to do with what an answer may say"},
	{"internal/clients", []string{"internal/agui"}, "what a client can read is concluded from its request alone: who tells it something asks here"},
	{"internal/edge/listen", nil, "where to listen has nothing to do with what comes"},
	{"internal/edge/front", []string{"internal/edge/certificates", "internal/edge/listen", "internal/variables"}, "it is before every request, so it knows nothing of what they are for"},
	{"internal/edge/certificates", nil, "both sides of TLS are the same to it, and so is what they carry"},
	{"internal/test/authority", nil, "it makes files, for whoever is tested with them"},
	{"internal/edge/headers", nil, "a header is text: who gets it, and who sends it, is not its business"},
	{"internal/edge/admin", []string{"internal/edge/listen", "internal/variables"}, "it is told what there is to tell, so that no probe can come to a run or to the backend"},
	{"internal/event/door", []string{"internal/agui", "internal/event"}, "it is words that doors and proxy share, so that neither knows the other"},
	{"internal/desk/carry", []string{"internal/agui", "internal/event/door", "store"}, "it finds what is decided and has it carried: what a run is, who carries it knows"},
	{"internal/desk/marks", nil, "what is hidden in a text has nothing to do with whose text it is"},
	{"internal/desk/marks/generate", nil, "it makes a table of a file"},
	{"internal/desk/fields", []string{"internal/agui", "internal/desk/marks"}, "it lays out what an agent wrote, and must not know who reads it or what is decided by it"},
	{"internal/desk/statement", []string{"internal/agui"}, "it finds what an agent sent with a question, and must not know who reads it or what is decided by it"},
	{"internal/desk/api", []string{"internal/agui", "internal/event/door", "internal/event", "internal/desk/fields", "internal/desk/marks", "internal/desk/policy", "internal/principal", "internal/desk/statement", "store"}, "it is a door on the records, beside the chat: it must see no run, and no run may wait for it"},
	{"internal/desk", []string{"internal/desk/*", "internal/edge/certificates", "internal/edge/front", "internal/edge/listen", "internal/event", "internal/principal", "internal/variables", "store"}, "it is the desk as a part of the program: it sees no run, and who judges and carries is given to it"},
	{"internal/desk/page", nil, "it is files for a browser: what they show is asked of the API, as anybody asks it"},
	{"internal/test/servers", nil, "it starts servers of others, whatever is tested with them"},
	{"internal/principal", []string{"internal/edge/headers", "internal/variables"}, "who asks has nothing to do with what is asked; a desk will ask it too"},
	{"internal/desk/policy", nil, "who has which rights has nothing to do with who asks, and with what is asked"},
	{"internal/test/hostile", nil, "it makes and measures, whatever is tested with it"},
	{"internal/event", nil, "what has happened is told to whoever is to hear of it, in words of its own"},
	{"internal/observe/audit", []string{"internal/event", "internal/variables"}, "it writes down what it is told, and must not depend on who tells"},
	{"internal/observe/webhook", []string{"internal/agui", "internal/event", "internal/variables", "store"}, "it sends what it is told and what stands in a record, and must not depend on who tells"},
	{"internal/observe/trace", []string{"internal/event"}, "it is told what a span has, and must not depend on who tells"},
	{"internal/observe/metrics", []string{"internal/agui", "internal/observe/audit", "internal/event", "store"}, "it counts what it is told, and measures the steps of a store; who tells it is cmd's"},
	{"cmd/holdpoint/internal/doctor", []string{"docs", "internal/agui", "internal/clients", "internal/event", "internal/sse", "proxy", "store/memory", "translate", "translate/*"}, "it shows what Holdpoint makes of an answer, so it is made of Holdpoint itself and decides nothing; only cmd asks it"},
	{"internal/inject", []string{"internal/agui"}, "what becomes of a pod is concluded from its review alone: who listens and who asks the API server is the binary's"},
	{"cmd/holdpoint/internal/injector", []string{"internal/agui", "internal/edge/certificates", "internal/edge/listen", "internal/inject", "internal/variables"}, "the webhook is a listener and a certificate: it knows no run"},
	{"cmd/holdpoint/internal/replay", []string{"internal/agui", "internal/event", "internal/scenario", "store"}, "it shows what a Holdpoint does by what comes and what goes, so whoever makes that Holdpoint hands it in"},
	{"docs", nil, "it is pages, and one of them is read by the binary"},
	{"internal/test/pages", nil, "it reads documents, for whichever test looks at them"},
	{"internal/test/repo", nil, "it has no code"},
	{"internal/contract", []string{"internal/agui", "store"}, "the contract is asked by more than one door: it is told what a request says and what the record holds, and nothing of where they come from"},
	{"translate", []string{"internal/agui"}, "the seam is what a dialect must learn to be written; more than the vocabulary would make it larger"},
	{"translate/kit", []string{"internal/agui", "translate"}, "dialects are made with it, so it knows none of them"},
	{"translate/yesno", []string{"internal/agui", "translate", "translate/kit"}, "a yes and a no are one thing, whether a message carries them or a value"},
	{"translate/dialects", []string{"internal/variables", "translate", "translate/*"}, "it lists the dialects, reads their options, and does nothing else"},
	{"translate/dialecttest/*", []string{"internal/agui", "translate", "translate/kit", "translate/internal/calls"}, "they are the examples that others are copied from: as any dialect"},
	{"translate/internal/strandsapi", []string{"internal/agui", "translate", "translate/kit"}, "what Strands says is one thing, on whichever wire; the dialects of Strands alone know it"},
	{"translate/internal/langgraphapi", []string{"internal/agui", "translate", "translate/kit"}, "what a graph asks and takes for an answer is one thing, whatever carries it: an adapter or LangGraph's own server"},
	{"translate/internal/microsoft", []string{"internal/agui", "translate", "translate/kit"}, "an approval in Microsoft's form is one whatever dialect is named; what a backend does with it is its dialect's"},
	{"translate/internal/aguiwriter", []string{"internal/agui"}, "how an AG-UI stream is written is one thing, whatever a backend speaks"},
	{"translate/internal/calls", []string{"internal/agui", "translate", "translate/kit", "translate/yesno", "translate/internal/microsoft"}, "how backends ask by a call is a table; what a row of it is for, its dialect knows"},
	{"translate/strands/internal/*", []string{"internal/agui"}, "what the repr of a Python object says has nothing to do with what a run is"},
	{"translate/strands", []string{"internal/agui", "translate", "translate/kit", "translate/internal/aguiwriter", "translate/internal/strandsapi", "translate/strands/internal/*"}, "as any dialect; what it is made of stays in its folder"},
	{"translate/auto", []string{"internal/agui", "translate", "translate/kit", "translate/internal/strandsapi"}, "it is handed the dialects; of Strands it knows how a question looks that was dropped, for that is in nobody's stream"},
	{"translate/agentframework/internal/*", []string{"internal/agui", "translate", "translate/kit"}, "the .NET host shares a name with the Python one, and nothing on the wire"},
	{"translate/agentframework", []string{"internal/agui", "translate", "translate/kit", "translate/internal/microsoft", "translate/agentframework/internal/*"}, "as any dialect; what it is made of stays in its folder"},
	{"translate/langgraph", []string{"internal/agui", "translate", "translate/kit", "translate/internal/langgraphapi", "translate/internal/microsoft"}, "as any dialect; and what LangGraph says"},
	{"translate/langgraphserver", []string{"internal/agui", "translate", "translate/kit", "translate/internal/aguiwriter", "translate/internal/langgraphapi"}, "as any dialect; and what LangGraph says"},
	{"translate/draft", []string{"internal/agui", "translate", "translate/kit", "translate/yesno", "translate/internal/calls"}, "as any dialect that asks by a call; and what a yes and a no look like"},
	{"translate/toolcall", []string{"internal/agui", "translate", "translate/kit", "translate/yesno", "translate/internal/calls"}, "as any dialect that asks by a call; and what a yes and a no look like"},
	{"translate/awsstrands", []string{"internal/agui", "translate", "translate/kit", "translate/internal/microsoft", "translate/internal/strandsapi"}, "as any dialect; and what Strands says"},
	{"translate/dialecttest", []string{"internal/agui", "internal/scenario", "translate", "translate/kit"}, "it is tests that dialects import; scenarios are read in one place"},
	{"translate/*", []string{"internal/agui", "internal/build/poison", "translate", "translate/kit", "translate/internal/aguiwriter", "translate/internal/calls", "translate/internal/microsoft"}, "a dialect that knew another, the store or the contract could not be read alone; auto is handed the others, it does not import them"},
	{"store", []string{"internal/agui"}, "a pause is opaque to the store; judging requests is the contract's"},
	{"store/internal/*", []string{"internal/agui", "store"}, "the rules of a record are the same for every engine"},
	{"store/stores", []string{"internal/variables", "store", "store/*"}, "it lists the engines and opens one, and does nothing else"},
	{"store/*", []string{"internal/agui", "store", "store/engine", "store/internal/*"}, "an engine that knew another could not be left out of a build; only cmd picks one"},
	{"proxy", []string{"internal/*", "internal/build/*", "internal/event/door", "internal/desk/carry", "internal/edge/front", "proxy/internal/*", "translate", "translate/kit", "translate/yesno", "store"}, "a dialect or an engine known to proxy would be a special case in it"},
	{"proxy/internal/client", []string{"internal/agui", "internal/clients", "internal/contract", "internal/tanstack", "proxy/internal/words", "store", "translate", "translate/kit"}, "what a client is told is made of values: who it is and what there is to tell"},
	{"proxy/internal/words", nil, "what is said as a result is one thing, whoever tells it and whoever takes it out again"},
	{"proxy/internal/history", []string{"internal/agui", "internal/contract", "proxy/internal/dialect", "proxy/internal/ids", "proxy/internal/words", "store", "translate", "translate/kit", "translate/yesno"}, "what messages say is concluded from a request and its record alone: who claims, sends and tells does so elsewhere"},
	{"proxy/internal/transcript", []string{"internal/agui", "internal/build/poison", "internal/build/without"}, "what a client was shown has nothing to do with what is decided about it"},
	{"proxy/internal/backend", []string{"internal/build/poison", "internal/build/without"}, "a connection carries bytes; runs and events are proxy's"},
	{"proxy/internal/stream", []string{"internal/agui", "internal/build/poison", "internal/sse", "internal/build/without", "translate"}, "bytes go in and out by it; what they mean is proxy's (of translate it knows how a dialect wants its stream cut)"},
	{"proxy/internal/cors", nil, "who may read an answer has nothing to do with what it says: it knows headers and addresses"},
	{"proxy/internal/intake", []string{"internal/agui", "internal/edge/front", "internal/principal", "proxy/internal/cors", "proxy/internal/ids", "proxy/internal/stream", "translate", "translate/kit"}, "what a request is must be known before anything is done about it: it knows no record, and answers nothing"},
	{"proxy/internal/ids", []string{"store"}, "an id is bits, and a key is a digest: what they are for is each room's"},
	{"proxy/internal/tell", []string{"internal/agui", "internal/contract", "internal/principal", "proxy/internal/client", "proxy/internal/settle", "translate", "store"}, "what a client is told is said from values: it sends nothing, and does not know what the store is"},
	{"proxy/internal/settle", []string{"internal/agui", "proxy/internal/client", "proxy/internal/ids", "internal/tanstack", "translate", "translate/kit", "translate/yesno", "store"}, "what becomes of a run is said from values: it asks nobody and saves nothing"},
	{"proxy/internal/dialect", nil, "a panic is one whichever method of a dialect it comes from; what a client is told of it is proxy's"},
	{"proxy/internal/ledger", []string{"internal/agui", "internal/contract", "internal/event/door", "internal/event", "internal/principal", "proxy/internal/ids", "proxy/internal/settle", "store"}, "a step of the store is told as what happened to questions; who asks for it, and why, is the run's"},
	{"cmd/*", []string{"*", "*/*", "internal/*/*", "cmd/*/internal/*"}, "only what the binary is put together of"},
	{"cmd/*/internal/*", []string{"internal/*"}, "the demo is a client and a backend: it must see Holdpoint by its stream only"},
	{"bench", []string{"bench/steps"}, "it measures the binary and others beside it by the same means, so it must not reach into ours; what a step of a store costs shows behind no binary, and is in a folder of its own"},
	{"bench/steps", []string{"internal/agui", "internal/test/servers", "store", "store/*"}, "it measures the engines beside what they are made on, and nothing of what uses them"},
	{"deploy", nil, "it has no code; its tests run the binary and others' tools, as who installs it does"},
	{"deploy/pack", nil, "it packs what was built, and knows nothing of what is in it"},
	{"deploy/kube", nil, "it has no code; its tests run the image on a node of Kubernetes, and know nothing of what is in it"},
	{"deploy/kube/*", nil, "they run on the node beside Holdpoint: an agent, the names of Services, what holds a pod"},
	{"e2e", []string{"internal/test/servers"}, "it tests the binary, so it must not reach into it; it may start the servers that the binary needs"},
	{"e2e/*", []string{"e2e/netjson"}, "a backend knows nothing of what stands before it, and a client nothing of what answers it; .NET's write JSON alike"},
}

// confined lists packages of other modules. Such a package may be imported only in the folders that
// the field "where" lists. A package path that ends with / means all packages below it. If tests is
// true, all test files may import the package too.
var confined = []struct {
	what  string
	where []string
	tests bool
	why   string
}{
	{"net/http/", []string{"internal/desk", "internal/edge/headers", "internal/observe/metrics", "internal/observe/trace", "internal/observe/webhook", "internal/desk/api", "internal/desk/page", "proxy", "proxy/internal/cors", "proxy/internal/intake", "proxy/internal/stream", "proxy/internal/backend", "internal/principal", "internal/edge/admin", "internal/edge/front", "cmd/*", "cmd/*/internal/*", "e2e", "e2e/*", "bench", "deploy/kube/*"}, true, "only proxy knows HTTP, who asks stands in a request's header, and probes are HTTP, and front bounds what an http.Server takes: a dialect sees events, the store sees records, and both are tested without a server"},
	{"github.com/caarlos0/env/", []string{"internal/variables", "cmd/*"}, false, "variables are read in one place"},
	{"github.com/santhosh-tekuri/jsonschema/", []string{"internal/contract", "internal/observe/audit"}, false, "payloads are judged in one place, with remote references off; the audit's tests judge its lines by their published schema"},
	{"github.com/evanphx/json-patch/", []string{"proxy/internal/transcript"}, false, "state is folded in the transcript only, where its size is bounded"},
	{"github.com/hashicorp/golang-lru/", []string{"store/memory", "store/engine", "proxy", "proxy/internal/cors"}, false, "what an engine is made of stays in its folder; proxy bounds the routes that it remembers, engine the pauses that are safe"},
	{"github.com/redis/rueidis/", []string{"store/redis", "bench/steps"}, false, "what an engine is made of stays in its folder"},
	{"github.com/jackc/pgx/", []string{"store/postgres", "bench/steps"}, false, "what an engine is made of stays in its folder"},
	{"github.com/go-jose/go-jose/", []string{"internal/principal"}, true, "tokens are verified in one place"},
	{"github.com/rs/cors/", []string{"proxy/internal/cors"}, false, "who may read an answer is decided in one place"},
	{"github.com/prometheus/client_golang/", []string{"internal/observe/metrics"}, false, "names and labels of metrics are in one place; proxy tells what has happened and does not count"},
	{"go.opentelemetry.io/", []string{"internal/observe/trace"}, true, "who makes spans is told of runs, and nobody else is told of OpenTelemetry"},
	{"go.yaml.in/yaml/", []string{"deploy", "deploy/kube", "internal/desk/policy"}, true, "the one file of YAML is read in one place; manifests are read by their tests only"},
	{"github.com/zeebo/xxh3/", []string{"translate/internal/langgraphapi", "translate/langgraph"}, false, "it is LangGraph's way to make an id, nobody else's"},
	{"pgregory.net/rapid/", []string{"store/storetest", "translate/dialecttest"}, true, "it is for tests; storetest and dialecttest are tests that engines and dialects import"},
	{"go.uber.org/goleak/", nil, true, "it is for tests"},
	{"holdpoint/internal/test/hostile/", nil, true, "it is for tests"},
	{"holdpoint/internal/test/authority/", nil, true, "it is for tests"},
	{"holdpoint/internal/test/pages/", nil, true, "it is for tests"},
	{"holdpoint/internal/test/servers/", []string{"bench/steps"}, true, "it is for tests, and for the benchmark of the stores"},
	{"holdpoint/translate/dialecttest/", nil, true, "it is for tests"},
}

// exempt has imports that break a rule, each with the reason. If such an import no longer exists,
// the test fails.
var exempt = map[string]string{}

// A source is a Go file of this repository.
type source struct {
	path, dir string
	test      bool
	file      *ast.File
	places    *token.FileSet
}

func sources(t *testing.T, mode parser.Mode) []source {
	t.Helper()
	var list []source
	for _, p := range files(t, func(p string) bool { return strings.HasSuffix(p, ".go") && !strings.Contains(p, "testdata/") }) {
		places := token.NewFileSet()
		f, err := parser.ParseFile(places, filepath.Join(root, filepath.FromSlash(p)), nil, mode)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, source{path: p, dir: path.Dir(p), test: strings.HasSuffix(p, "_test.go"), file: f, places: places})
	}
	return list
}

func (s source) imports() []string {
	var list []string
	for _, i := range s.file.Imports {
		list = append(list, strings.Trim(i.Path.Value, `"`))
	}
	return list
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok })
}

func TestImportDirection(t *testing.T) {
	used := map[string]bool{}
	for _, s := range sources(t, parser.ImportsOnly) {
		at := slices.IndexFunc(places, func(p place) bool { return matches([]string{p.pattern}, s.dir) })
		if at < 0 {
			t.Errorf("%s: a new folder: give it a place and a reason here, and in the design", s.path)
			continue
		}
		for _, imported := range s.imports() {
			breach := s.dir + " imports " + imported
			if own, ours := strings.CutPrefix(imported, module+"/"); ours && !s.test && !matches(places[at].may, own) {
				if exempt[breach] == "" {
					t.Errorf("%s must not import %s: %s", s.path, imported, places[at].why)
				}
				used[breach] = true
			}
			for _, c := range confined {
				if !strings.HasPrefix(imported+"/", c.what) || matches(c.where, s.dir) || s.test && c.tests {
					continue
				}
				if exempt[breach] == "" {
					t.Errorf("%s must not import %s: %s", s.path, imported, c.why)
				}
				used[breach] = true
			}
		}
	}
	for breach := range maps.Keys(exempt) {
		if !used[breach] {
			t.Errorf("%s no more: take the exemption away", breach)
		}
	}
}

// TestOneCommentPerPackage: each package has exactly one package comment.
func TestOneCommentPerPackage(t *testing.T) {
	comments := map[string][]string{}
	names := map[string]string{}
	for _, s := range sources(t, parser.ParseComments|parser.PackageClauseOnly) {
		if s.test {
			continue
		}
		names[s.dir] = s.file.Name.Name
		if s.file.Doc == nil || strings.TrimSpace(s.file.Doc.Text()) == "" {
			continue // a //go:build line alone is not a package comment
		}
		comments[s.dir] = append(comments[s.dir], s.path)
		begin := "Package " + s.file.Name.Name + " "
		if s.file.Name.Name == "main" {
			begin = "Holdpoint "
		}
		if text := s.file.Doc.Text(); !strings.HasPrefix(text, begin) {
			t.Errorf("%s: the package comment must begin with %q", s.path, begin)
		}
	}
	for dir := range names {
		if n := len(comments[dir]); n != 1 {
			t.Errorf("%s has %d package comments, want one: %v", dir, n, comments[dir])
		}
	}
}

// TestBinaryDoesNotExecuteTemplates: the binary must not link text/template. If it did, the linker
// would keep every exported method of every type (docs/dependencies.md has the cost).
func TestBinaryDoesNotExecuteTemplates(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags=grpcnotrace", "./cmd/holdpoint")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := strings.Fields(string(out))
	if !slices.Contains(packages, "text/template/parse") {
		t.Error("the webhook's templates are not found: the test looks at another program")
	}
	if slices.Contains(packages, "text/template") {
		t.Error("the binary executes templates by text/template, and is 16 MB larger by it")
	}
}
