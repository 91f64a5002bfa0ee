package repo

import (
	"cmp"
	"go/ast"
	"go/parser"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// The tests of this file count what makes the package proxy hard to change. A count may only fall.
// Anybody who lowers a count writes the new value here, in the same commit. Anybody who must raise
// one gives the reason in the commit. At b29f0bff, where the counting began, run had 37 fields and
// 150 methods in 37 files.
//
// The tests parse the sources without type checking. They find a declaration by the name of its
// type, which is enough in a folder where these names are unique.

// A counter is a number that must not grow. got is the number in the sources, and held is the
// number that is written in this file. The two must be equal. goal is the number that held should
// reach one day.
type counter struct {
	what            string
	got, held, goal int
}

// types has the structs, methods and functions of a folder.
type types struct {
	structs map[string]*ast.StructType
	methods map[string][]*ast.FuncDecl
	funcs   map[string]*ast.FuncDecl // by receiver and name, joined as in "run.serve"
}

// typesOf collects the types of a folder from its sources, without its tests.
func typesOf(list []source, dir string) types {
	all := types{map[string]*ast.StructType{}, map[string][]*ast.FuncDecl{}, map[string]*ast.FuncDecl{}}
	for _, s := range list {
		if s.dir != dir || s.test {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if named, is := spec.(*ast.TypeSpec); is {
						if of, is := named.Type.(*ast.StructType); is {
							all.structs[named.Name.Name] = of
						}
					}
				}
			case *ast.FuncDecl:
				name := ""
				if d.Recv != nil {
					name = baseName(d.Recv.List[0].Type)
					all.methods[name] = append(all.methods[name], d)
				}
				all.funcs[name+"."+d.Name.Name] = d
			}
		}
	}
	return all
}

// baseName returns the name of a type without pointers, lists and type parameters, such as "run" of
// []*run.
func baseName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return baseName(e.X)
	case *ast.ArrayType:
		return baseName(e.Elt)
	case *ast.MapType:
		return baseName(e.Value)
	case *ast.IndexExpr:
		return baseName(e.X)
	case *ast.ParenExpr:
		return baseName(e.X)
	}
	return ""
}

// isBack reports whether a field of this type gives access to a run, a body or a Handler.
func isBack(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.StarExpr:
		return slices.Contains([]string{"run", "body", "Handler"}, baseName(e.X))
	case *ast.ArrayType:
		return isBack(e.Elt)
	case *ast.MapType:
		return isBack(e.Value)
	}
	return false
}

// countFields counts the fields of a struct. If it embeds a struct of the same folder, the fields
// of that struct count too.
func (all types) countFields(name string) int {
	n := 0
	for _, f := range all.structs[name].Fields.List {
		of := all.structs[baseName(f.Type)]
		switch _, pointer := f.Type.(*ast.StarExpr); {
		case len(f.Names) > 0:
			n += len(f.Names)
		case of != nil && !pointer:
			n += all.countFields(baseName(f.Type))
		default:
			n++
		}
	}
	return n
}

// keepers returns the names of the structs that have a field of type *run, *body or *Handler, or a
// field with a list or map of one of these types.
func (all types) keepers() []string {
	var list []string
	for name, of := range all.structs {
		if slices.ContainsFunc(of.Fields.List, func(f *ast.Field) bool { return isBack(f.Type) }) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// callbacks returns the fields whose type is a function, as "struct.field". It leaves out the
// fields of Options, which the caller sets.
func (all types) callbacks() []string {
	var list []string
	for name, of := range all.structs {
		for _, f := range of.Fields.List {
			if _, is := f.Type.(*ast.FuncType); !is || name == "Options" {
				continue
			}
			for _, n := range f.Names {
				list = append(list, name+"."+n.Name)
			}
		}
	}
	slices.Sort(list)
	return list
}

// largest returns the name with the highest count, and this count. It ignores the names in but.
func largest(count map[string]int, but ...string) (string, int) {
	names := slices.DeleteFunc(slices.Collect(maps.Keys(count)), func(n string) bool { return slices.Contains(but, n) })
	if len(names) == 0 {
		return "", 0
	}
	name := slices.MaxFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(count[a], count[b]), cmp.Compare(b, a)) })
	return name, count[name]
}

// TestHouseCounts checks the counts of the package proxy, such as the number of fields and methods
// of run. No count may have grown. If a count has fallen, the new value must be written here.
func TestHouseCounts(t *testing.T) {
	list := sources(t, parser.SkipObjectResolution)
	all := typesOf(list, "proxy")
	if all.structs["run"] == nil {
		t.Fatal("proxy has no struct run: the counters look at nothing")
	}
	methods, fields := map[string]int{}, map[string]int{}
	for name, of := range all.methods {
		methods[name] = len(of)
	}
	for name := range all.structs {
		fields[name] = all.countFields(name)
	}
	_, mostMethods := largest(methods, "run", "Options")
	_, mostFields := largest(fields, "run", "Options")
	files := map[string]bool{}
	for _, s := range list {
		if s.dir != "proxy" || s.test {
			continue
		}
		for _, d := range s.file.Decls {
			if f, is := d.(*ast.FuncDecl); is && f.Recv != nil && baseName(f.Recv.List[0].Type) == "run" {
				files[s.path] = true
			}
		}
	}
	for _, c := range []counter{
		{"fields of run, with those of what it embeds", fields["run"], 9, 15},
		{"methods of run", methods["run"], 40, 40},
		{"files with methods of run", len(files), 4, 4},
		{"methods of the other type with the most", mostMethods, 52, 60},
		{"fields of the other type with the most", mostFields, 24, 25},
	} {
		switch {
		case c.got > c.held:
			t.Errorf("%s: %d, and they were %d; the goal is %d", c.what, c.got, c.held, c.goal)
		case c.got < c.held:
			t.Errorf("%s: %d: write it here in place of %d", c.what, c.got, c.held)
		}
	}
}

// TestWaysBack lists the structs with access to a run or to the whole Handler. Only run and Router
// have this access. (RouterOptions is listed because it hands agents over to Router.)
//
// It also lists the struct fields that are functions. Of these, only body.concludes leads to a run.
// body.emits and body.emitOut are methods of the body itself; they are in fields so that an
// unchanged frame does not allocate them. The functions of runLife and reporter end a watch, free a
// place and report waiting clients. They have no access to a run, a body or a Handler.
func TestWaysBack(t *testing.T) {
	all := typesOf(sources(t, parser.SkipObjectResolution), "proxy")
	for what, c := range map[string]struct{ got, want []string }{
		"structs that keep a *run, *body or *Handler": {all.keepers(), []string{
			"Router", "RouterOptions", "run",
		}},
		"fields that hold a function": {all.callbacks(), []string{
			"OtherDoors.Headers", "OtherDoors.StoreMayForget", "body.concludes", "body.emitOut", "body.emits",
			"reporter.onEmpty", "runLife.releasePlace", "runLife.stopFollowing", "runLife.stopWatching",
		}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", what, c.got, c.want)
		}
	}
}

// TestStoreIsCalledByTheLedger checks that only the ledger calls the store. It also counts the
// places in the code that do so.
func TestStoreIsCalledByTheLedger(t *testing.T) {
	got := map[string]int{}
	for _, s := range sources(t, parser.SkipObjectResolution) {
		if s.test || s.dir != "proxy" && !strings.HasPrefix(s.dir, "proxy/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, is := n.(*ast.CallExpr); is {
				if step, is := call.Fun.(*ast.SelectorExpr); is {
					if of, is := step.X.(*ast.SelectorExpr); is && strings.EqualFold(of.Sel.Name, "store") {
						got[s.path]++
					}
				}
			}
			return true
		})
	}
	if want := (map[string]int{
		"proxy/internal/ledger/claim.go": 1, "proxy/internal/ledger/index.go": 2,
		"proxy/internal/ledger/ledger.go": 4, "proxy/internal/ledger/occupancy.go": 1,
	}); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// rooms lists the packages of proxy/internal that may import other packages of proxy/internal, with
// the packages that each may import. A package that is not listed may not import another one.
var rooms = map[string][]string{
	"settle": {"client", "transcript"},
	"tell":   {"settle", "client"},
	"ledger": {"settle", "stream"},
	"intake": {"cors", "client", "stream"},
	"client": {"transcript"},
}

// leaves has the packages of proxy/internal that each package there may import.
var leaves = []string{"dialect", "ids", "words"}

// TestRooms checks which packages of proxy/internal import each other. It also checks that no
// interface there has more than ten methods.
func TestRooms(t *testing.T) {
	const below, most = "proxy/internal/", 10
	for _, s := range sources(t, parser.SkipObjectResolution) {
		room, is := strings.CutPrefix(s.dir, below)
		if !is || s.test {
			continue
		}
		room, _, _ = strings.Cut(room, "/")
		for _, imported := range s.imports() {
			other, is := strings.CutPrefix(imported, path.Join(module, below)+"/")
			if is && other != room && !slices.Contains(rooms[room], other) && !slices.Contains(leaves, other) {
				t.Errorf("%s: the room %s must not import the room %s", s.path, room, other)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if of, is := n.(*ast.InterfaceType); is && of.Methods.NumFields() > most {
				t.Errorf("%s: an interface of %d methods, want %d at most", s.path, of.Methods.NumFields(), most)
			}
			return true
		})
	}
}

// script has the functions that each run passes through, by receiver and name, with the number of
// lines of each function. run.admit and run.conclude may have at most 40 lines, and may call each
// room (a package of proxy/internal) at most twice.
var script = map[string]int{"run.admit": 27, "run.conclude": 20, "run.prepare": 21, "run.serve": 15}

// TestScript checks the functions in script: their lengths, and how often they call each room.
func TestScript(t *testing.T) {
	got := map[string]int{}
	for _, s := range sources(t, parser.SkipObjectResolution) {
		if s.test || s.dir != "proxy" {
			continue
		}
		for _, d := range s.file.Decls {
			if d, is := d.(*ast.FuncDecl); is && d.Recv != nil && d.Body != nil {
				name := baseName(d.Recv.List[0].Type) + "." + d.Name.Name
				if _, is := script[name]; is {
					got[name] = s.places.Position(d.End()).Line - s.places.Position(d.Pos()).Line + 1
				}
				if name == "run.admit" || name == "run.conclude" {
					if got[name] > 40 {
						t.Errorf("%s has %d lines, want 40 at most", name, got[name])
					}
					calls := roomCalls(d)
					if name == "run.conclude" && (calls["settle"] == 0 || calls["tell"] == 0) {
						t.Errorf("%s calls %v: nothing is counted", name, calls)
					}
					for room, n := range calls {
						if n > 2 {
							t.Errorf("%s calls %s %d times, want twice at most", name, room, n)
						}
					}
				}
			}
		}
	}
	if !maps.Equal(got, script) {
		t.Errorf("lines: got %v, want %v", got, script)
	}
}

// roomCalls counts how often a function calls each room. A call through a field of the judge counts
// as a call of the ledger.
func roomCalls(of *ast.FuncDecl) map[string]int {
	calls := map[string]int{}
	ast.Inspect(of.Body, func(n ast.Node) bool {
		call, is := n.(*ast.CallExpr)
		if !is {
			return true
		}
		if to, is := call.Fun.(*ast.SelectorExpr); is {
			switch x := to.X.(type) {
			case *ast.Ident:
				if _, room := rooms[x.Name]; room || x.Name == "history" {
					calls[x.Name]++
				}
			case *ast.SelectorExpr:
				if x.Sel.Name == "ledger" {
					calls["ledger"]++
				}
			}
		}
		return true
	})
	return calls
}

// TestWhoMakesARun: the proxy may make a run only for a client's request, and to send an answer
// without its client. A decision at the desk must not make a run.
func TestWhoMakesARun(t *testing.T) {
	makes, calls := map[string]bool{}, map[string]bool{}
	for name, f := range typesOf(sources(t, parser.SkipObjectResolution), "proxy").funcs {
		if f.Body == nil {
			continue
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if baseName(n.Type) == "run" {
					makes[name] = true
				}
			case *ast.CallExpr:
				if to, is := n.Fun.(*ast.SelectorExpr); is && (to.Sel.Name == "newRun" || to.Sel.Name == "ownRun") {
					calls[name] = true
				}
			}
			return true
		})
	}
	if want := map[string]bool{"Handler.newRun": true, "Handler.ownRun": true}; !maps.Equal(makes, want) {
		t.Errorf("made in %v, want %v", makes, want)
	}
	if want := map[string]bool{"Handler.recognise": true, "Handler.Carry": true}; !maps.Equal(calls, want) {
		t.Errorf("asked for in %v, want %v", calls, want)
	}
}
