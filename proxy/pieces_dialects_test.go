package proxy_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"holdpoint/internal/agui"
	"holdpoint/translate/dialects"
	"holdpoint/translate/dialecttest"
)

// TestPiecesAndWholeOfEveryDialect: the streams are the recorded streams of each dialect, with
// lines removed, repeated, moved and changed. However the bytes of a stream are split, the client,
// the backend and the record must get the same. No stream may cause a bug of a dialect or of proxy
// (INTERNAL_ERROR), and each request to the backend must be JSON.
func TestPiecesAndWholeOfEveryDialect(t *testing.T) {
	byDialect := map[string][]scenario{}
	for _, s := range scenarios(t) {
		byDialect[s.Folder()] = append(byDialect[s.Folder()], s)
	}
	for _, name := range dialects.All().Names() {
		t.Run(name, func(t *testing.T) {
			if fewer(t, 40); testing.Short() {
				fewer(t, 10)
			}
			rapid.Check(t, func(rt *rapid.T) {
				inPieces(t, rt, rapid.SampledFrom(byDialect[name]).Draw(rt, "scenario"))
			})
		})
	}
}

func inPieces(t *testing.T, rt *rapid.T, s scenario) {
	edits := rapid.Bool().Draw(rt, "edits")
	type place struct{ turn, exchange int }
	files := map[place][]byte{}
	says := func(turn, exchange int, file []byte) []byte { // returns the same for both stages
		at := place{turn, exchange}
		if _, made := files[at]; !made {
			files[at] = file
			if edits {
				files[at] = []byte(dialecttest.Mutated(rt, string(file)))
			}
		}
		return files[at]
	}
	sizes := rapid.SliceOfN(rapid.IntRange(1, 64), 1, 20).Draw(rt, "sizes")
	ends := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "line ends")
	next := 0
	pieces := delivery{name: "pieces", piece: func([]byte) int { next++; return sizes[next%len(sizes)] }}
	if ends != "\n" {
		pieces.frame = lineEnd(ends)
	}
	whole, cut := newStage(t, s, delivery{name: "whole"}), newStage(t, s, pieces)
	whole.backend.says, cut.backend.says = says, says
	for turn := 1; turn <= s.Turns; turn++ {
		whole.begin(turn)
		cut.begin(turn)
		one, other := joined(whole.post(s.request(turn))), joined(cut.post(s.request(turn)))
		if one != other {
			rt.Fatalf("%s, turn %d: %s", s.Name, turn, firstDifference(other, one))
		}
		if strings.Contains(one, string(agui.InternalError)) {
			rt.Fatalf("%s, turn %d: %s", s.Name, turn, one)
		}
		if !slices.EqualFunc(whole.backend.sent, cut.backend.sent, bytes.Equal) || !bytes.Equal(whole.record(), cut.record()) {
			rt.Fatalf("%s, turn %d: sent %q and %q, kept\n%s\n%s", s.Name, turn, whole.backend.sent, cut.backend.sent, whole.record(), cut.record())
		}
		for _, body := range whole.backend.sent {
			if len(body) > 0 && !gjson.ValidBytes(body) { // a GET has no body
				rt.Fatalf("%s, turn %d: no JSON: %s", s.Name, turn, body)
			}
		}
		if whole.foreign && !strings.HasPrefix(one, "HTTP ") {
			for _, complaint := range lint([]byte(one)) {
				rt.Fatalf("%s, turn %d: %s\n%s", s.Name, turn, complaint, one)
			}
		}
	}
}

// joined returns a stream in which the pieces of each text are joined to one event, if they follow
// each other.
func joined(stream []byte) string {
	frames, rest := split(string(stream))
	var out []string
	key, text := "", ""
	flush := func() {
		if key != "" {
			out = append(out, "data: "+string(agui.SetString([]byte(key), "delta", text))+"\n\n")
		}
		key, text = "", ""
	}
	for _, f := range frames {
		data, ok := dataOf(f)
		ev := agui.NewEvent([]byte(data))
		if !ok || ev.Type != agui.TextContent || !ev.Valid() || ev.Get("delta").Type != gjson.String || strings.Count(f, "\n") != 2 {
			flush()
			out = append(out, f)
			continue
		}
		like := string(agui.SetString(ev.JSON, "delta", ""))
		if like != key {
			flush()
		}
		key, text = like, text+ev.Get("delta").Str
	}
	flush()
	return strings.Join(out, "") + rest
}
