package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"pgregory.net/rapid"

	"holdpoint/internal/agui"
)

// patchedBy applies the patches to the state, and returns the new state. Each patch is a JSON list
// of operations.
func patchedBy(state string, max int, patches ...string) (string, error) {
	got, err := applyPatches(json.RawMessage(state), len(strings.Join(patches, "")), max, func(show func(string)) {
		for _, p := range patches {
			show(p)
		}
	})
	return string(got), err
}

func TestPatch(t *testing.T) {
	// want is "" if the patch cannot be applied
	for name, c := range map[string]struct{ state, patch, want string }{
		"add":                            {`{"a":1}`, `[{"op":"add","path":"/b","value":2}]`, `{"a":1,"b":2}`},
		"add to nothing":                 {``, `[{"op":"add","path":"/b","value":2}]`, `{"b":2}`},
		"add takes the place":            {`{"a":1,"b":2}`, `[{"op":"add","path":"/a","value":[]}]`, `{"a":[],"b":2}`},
		"add where no parent is":         {`{"a":1}`, `[{"op":"add","path":"/b/c","value":2}]`, ``},
		"add into a number":              {`{"a":1}`, `[{"op":"add","path":"/a/c","value":2}]`, ``},
		"remove":                         {`{"a":1,"b":2}`, `[{"op":"remove","path":"/a"}]`, `{"b":2}`},
		"remove what is not there":       {`{"a":1}`, `[{"op":"remove","path":"/b"}]`, ``},
		"remove null":                    {`{"a":null}`, `[{"op":"remove","path":"/a"}]`, `{}`},
		"remove, add":                    {`{"a":1,"b":2}`, `[{"op":"remove","path":"/a"},{"op":"add","path":"/a","value":3}]`, `{"b":2,"a":3}`},
		"replace":                        {`{"a":1}`, `[{"op":"replace","path":"/a","value":null}]`, `{"a":null}`},
		"replace what is not there":      {`{"a":1}`, `[{"op":"replace","path":"/b","value":1}]`, ``},
		"replace the whole":              {`{"a":1}`, `[{"op":"replace","path":"","value":[1]}]`, `[1]`},
		"remove the whole":               {`{"a":1}`, `[{"op":"remove","path":""}]`, `null`},
		"nothing goes into null":         {`null`, `[{"op":"add","path":"/a","value":1}]`, ``},
		"list: at":                       {`[1,2]`, `[{"op":"add","path":"/1","value":9}]`, `[1,9,2]`},
		"list: end":                      {`[1,2]`, `[{"op":"add","path":"/2","value":9},{"op":"add","path":"/-","value":8}]`, `[1,2,9,8]`},
		"list: behind the end":           {`[1,2]`, `[{"op":"add","path":"/3","value":9}]`, ``},
		"list: remove":                   {`[1,2,3]`, `[{"op":"remove","path":"/1"}]`, `[1,3]`},
		"list: remove -":                 {`[1,2,3]`, `[{"op":"remove","path":"/-"}]`, ``},
		"list: 01":                       {`[1,2,3]`, `[{"op":"add","path":"/01","value":0}]`, ``},
		"list: -1":                       {`[1,2,3]`, `[{"op":"remove","path":"/-1"}]`, ``},
		"list: no index":                 {`[1,2,3]`, `[{"op":"add","path":"/","value":0}]`, ``},
		"list: an index of 2^32":         {`[1,2,3]`, `[{"op":"replace","path":"/4294967296","value":0}]`, ``},
		"list: in a list":                {`[[1],[2]]`, `[{"op":"replace","path":"/1/0","value":9}]`, `[[1],[9]]`},
		"move":                           {`{"a":{"b":1},"c":2}`, `[{"op":"move","from":"/a/b","path":"/d"}]`, `{"a":{},"c":2,"d":1}`},
		"move in a list":                 {`[1,2,3]`, `[{"op":"move","from":"/0","path":"/2"}]`, `[2,3,1]`},
		"move onto itself":               {`{"a":1,"b":2}`, `[{"op":"move","from":"/a","path":"/a"}]`, `{"b":2,"a":1}`},
		"move into itself":               {`{"a":{"b":1}}`, `[{"op":"move","from":"/a","path":"/a/b"}]`, ``},
		"move what is not there":         {`{"a":1}`, `[{"op":"move","from":"/b","path":"/c"}]`, ``},
		"move the whole":                 {`{"a":1}`, `[{"op":"move","from":"","path":"/c"}]`, ``},
		"move to the whole":              {`{"a":[1]}`, `[{"op":"move","from":"/a","path":""}]`, `[1]`},
		"move into what is one place on": {`[0,1,{}]`, `[{"op":"move","from":"/0","path":"/1/x"}]`, ``},
		"copy":                           {`{"a":{"b":1}}`, `[{"op":"copy","from":"/a","path":"/c"},{"op":"add","path":"/c/d","value":2}]`, `{"a":{"b":1},"c":{"b":1,"d":2}}`},
		"copy into itself":               {`{"a":{"b":1}}`, `[{"op":"copy","from":"/a","path":"/a/c"}]`, `{"a":{"b":1,"c":{"b":1}}}`},
		"copy the whole":                 {`{"a":1}`, `[{"op":"copy","from":"","path":"/c"}]`, `{"a":1,"c":{"a":1}}`},
		"copy what is not there":         {`{"a":1}`, `[{"op":"copy","from":"/b","path":"/c"}]`, ``},
		"test":                           {`{"a":{"x":1,"y":[2.0]}}`, `[{"op":"test","path":"/a","value":{"y":[2],"x":1e0}}]`, `{"a":{"x":1,"y":[2.0]}}`},
		"test of a text":                 {`{"a":"\u0041"}`, `[{"op":"test","path":"/a","value":"A"}]`, `{"a":"\u0041"}`},
		"test fails":                     {`{"a":{"x":1}}`, `[{"op":"test","path":"/a","value":{"x":2}}]`, ``},
		"test fails, one more":           {`{"a":{"x":1}}`, `[{"op":"test","path":"/a","value":{"x":1,"y":1}}]`, ``},
		"test of another kind":           {`{"a":"1"}`, `[{"op":"test","path":"/a","value":1}]`, ``},
		"test of what is not there":      {`{"a":"1"}`, `[{"op":"test","path":"/b","value":null}]`, ``},
		"escapes":                        {`{"a/b":1,"c~d":2,"~1":3}`, `[{"op":"replace","path":"/a~1b","value":4},{"op":"replace","path":"/c~0d","value":5},{"op":"remove","path":"/~01"}]`, `{"a/b":4,"c~d":5}`},
		"an empty name":                  {`{"":1}`, `[{"op":"replace","path":"/","value":2}]`, `{"":2}`},
		"a name in JSON":                 {`{"a\"b":1,"ü":2}`, `[{"op":"replace","path":"/a\"b","value":2},{"op":"replace","path":"/\u00fc","value":3},{"op":"add","path":"/\n","value":1}]`, `{"a\"b":2,"ü":3,"\n":1}`},
		"half a pair":                    {`{"\ud800":1}`, `[{"op":"replace","path":"/\udc00","value":2}]`, ``},
		"bytes stay":                     {`{"n":1.50e+2, "big":12345678901234567890, "t":"\u003c/\u00e9","o":{"z":1,  "a":[ 1 ]}}`, `[{"op":"add","path":"/x","value":1.0}]`, `{"n":1.50e+2,"big":12345678901234567890,"t":"\u003c/\u00e9","o":{"z":1,"a":[1]},"x":1.0}`},
		"two of one name":                {`{"a":1,"b":2,"a":3}`, `[{"op":"add","path":"/x","value":1}]`, `{"a":3,"b":2,"x":1}`},
		"the last of two members":        {`{"a":1}`, `[{"op":"add","path":"/x","path":"/y","value":1,"value":2}]`, `{"a":1,"y":2}`},
		"no list":                        {`{"a":1}`, `{"op":"remove","path":"/a"}`, ``},
		"no operation":                   {`{"a":1}`, `[7]`, ``},
		"an unknown one":                 {`{"a":1}`, `[{"op":"mark","path":"/a"}]`, ``},
		"no value":                       {`{"a":1}`, `[{"op":"add","path":"/a"}]`, ``},
		"no path":                        {`{"a":1}`, `[{"op":"remove"}]`, ``},
		"no from":                        {`{"a":1}`, `[{"op":"move","path":"/a"}]`, ``},
		"a path that does not begin":     {`{"a":1}`, `[{"op":"remove","path":"a"}]`, ``},
		"the prototype":                  {`{"a":1}`, `[{"op":"add","path":"/__proto__","value":1}]`, ``},
		"the constructor's":              {`{"constructor":{}}`, `[{"op":"add","path":"/constructor/prototype","value":1}]`, ``},
		"too large":                      {`{"a":1}`, `[{"op":"add","path":"/b","value":"` + strings.Repeat("x", 1000) + `"}]`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := patchedBy(c.state, 1000, c.patch); got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("%s %v, want %s", got, err, c.want)
			}
		})
	}
}

// TestPatchesAsAnotherAppliesThem: if a patch can be applied, the result must be the same as that
// of evanphx/json-patch. (This library does not support replacing the whole state.)
func TestPatchesAsAnotherAppliesThem(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom([]string{"a", "b", "c", "d~e", "f/g", "ü", "0", "1"})
		var text func(depth int) *rapid.Generator[string]
		text = func(depth int) *rapid.Generator[string] {
			return rapid.Custom(func(rt *rapid.T) string {
				kind := rapid.IntRange(0, 3+2*min(depth, 1)).Draw(rt, "kind")
				switch kind {
				case 0:
					return rapid.SampledFrom([]string{"1", "-2.50", "1e3", "12345678901234567890"}).Draw(rt, "number")
				case 1:
					return rapid.SampledFrom([]string{`"x"`, `"</\u00e9"`, `""`}).Draw(rt, "text")
				case 2:
					return rapid.SampledFrom([]string{"true", "false", "null"}).Draw(rt, "word")
				case 3:
					return rapid.SampledFrom([]string{"{}", "[]"}).Draw(rt, "empty")
				case 4:
					return "[" + strings.Join(rapid.SliceOfN(text(depth-1), 0, 4).Draw(rt, "list"), ",") + "]"
				}
				var list []string
				for _, n := range rapid.SliceOfNDistinct(name, 0, 4, func(s string) string { return s }).Draw(rt, "names") {
					list = append(list, string(agui.AppendString(nil, n))+":"+text(depth-1).Draw(rt, "value"))
				}
				return "{" + strings.Join(list, ",") + "}"
			})
		}
		pointer := rapid.Custom(func(rt *rapid.T) string {
			var b strings.Builder
			for _, token := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d~0e", "f~1g", "ü", "0", "1", "2", "-"}), 1, 3).Draw(rt, "path") {
				b.WriteString("/" + token)
			}
			return b.String()
		})
		state := text(3).Draw(rt, "state")
		if !strings.HasPrefix(state, "{") {
			state = `{"a":` + state + `}`
		}
		var patches []string
		want := []byte(state)
		options := jsonpatch.NewApplyOptions()
		options.EscapeHTML = false
		options.SupportNegativeIndices = false
		for range rapid.IntRange(1, 6).Draw(rt, "patches") {
			var ops []string
			for range rapid.IntRange(1, 3).Draw(rt, "operations") {
				op := rapid.SampledFrom([]string{"add", "add", "remove", "replace", "move", "copy", "test"}).Draw(rt, "op")
				given := text(2).Draw(rt, "value")
				if op == "test" && given == "null" {
					given = "1" // the other library reads a missing value as null
				}
				ops = append(ops, fmt.Sprintf(`{"op":%q,"path":%q,"from":%q,"value":%s}`, op, pointer.Draw(rt, "to"), pointer.Draw(rt, "from"), given))
			}
			one := "[" + strings.Join(ops, ",") + "]"
			patch, err := jsonpatch.DecodePatch([]byte(one))
			if err != nil {
				rt.Fatal(err)
			}
			next, err := patch.ApplyWithOptions(want, options)
			if err != nil {
				break
			}
			want, patches = next, append(patches, one)
		}
		got, err := patchedBy(state, 1<<20, patches...)
		if err != nil {
			if strings.Contains(strings.Join(patches, ""), `"move"`) {
				// the client requires that the target exists before the move removes the value
				return
			}
			rt.Fatalf("%v\nstate %s\npatches %s\nwant %s", err, state, patches, want)
		}
		if got != string(want) && string(agui.Canonical([]byte(got))) != string(agui.Canonical(want)) {
			rt.Fatalf("%s\nwant %s\nstate %s\npatches %s", got, want, state, patches)
		}
	})
}

// TestListOfChunks inserts and removes values of a list in chunks at any index. The list must then
// have the right values.
func TestListOfChunks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var l list
		var want []string
		add := func(n int, s string) {
			l.insert(n, value{raw: s})
			want = slices.Insert(want, n, s)
		}
		for n := range rapid.SampledFrom([]int{0, 1, chunkLength, 2*chunkLength + 7}).Draw(rt, "length") {
			l.push(value{raw: fmt.Sprint(n)})
			want = append(want, fmt.Sprint(n))
		}
		for n := range rapid.IntRange(0, 10).Draw(rt, "steps") {
			switch {
			case rapid.Bool().Draw(rt, "add") || len(want) == 0:
				at := rapid.IntRange(0, len(want)).Draw(rt, "at")
				for range rapid.SampledFrom([]int{1, chunkLength}).Draw(rt, "times") {
					add(at, fmt.Sprint("s", n))
				}
			default:
				at := rapid.IntRange(0, len(want)-1).Draw(rt, "at")
				for range min(len(want)-at, rapid.SampledFrom([]int{1, chunkLength}).Draw(rt, "times")) {
					l.remove(at)
					want = slices.Delete(want, at, at+1)
				}
			}
		}
		if l.length != len(want) {
			rt.Fatalf("%d values, want %d", l.length, len(want))
		}
		for n, s := range want {
			if got := l.at(n).raw; got != s {
				rt.Fatalf("value %d is %s, want %s", n, got, s)
			}
		}
	})
}

// TestPatchesCostTheirBytes: a backend sends a patch of few bytes. The patch must not be able to
// make a huge state or cause much work.
func TestPatchesCostTheirBytes(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 900) + `"` + strings.Repeat("x", 1<<20) + `"` + strings.Repeat("}", 900)
	far := strings.Repeat("/a", 900)
	grown := `{"a":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`
	for name, c := range map[string]struct {
		state, patch string
		times        int
	}{
		"a place far down":          {deep, `{"op":"replace","path":"` + far + `","value":1}`, 1},
		"copies of copies":          {`{"a":{"x":"` + strings.Repeat("x", 64) + `"}}`, `{"op":"copy","from":"/a","path":"/a/%d"}`, 20},
		"copies of what changes":    {grown, `{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/b/%d","value":1}`, 1000},
		"tests of a number":         {`{"n":0.` + strings.Repeat("0", 1<<20) + `}`, `{"op":"test","path":"/n","value":0}`, 1000},
		"nested deeper than can be": {`{"a":{}}`, `{"op":"copy","from":"/a","path":"/a/a"}`, 2000},
	} {
		t.Run(name, func(t *testing.T) {
			var ops []string
			for n := range c.times {
				ops = append(ops, strings.ReplaceAll(c.patch, "%d", fmt.Sprint(n)))
			}
			if _, err := patchedBy(c.state, 4<<20, "["+strings.Join(ops, ",")+"]"); !errors.Is(err, errTooMuch) {
				t.Error(err)
			}
		})
	}
}
