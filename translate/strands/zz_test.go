package strands

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"holdpoint/internal/agui"
	"holdpoint/translate"
)

func TestZZ(t *testing.T) {
	var files []string
	for _, g := range strings.Split(os.Getenv("ZZ"), ",") {
		for _, suf := range []string{"sse", "body"} {
			f, _ := filepath.Glob(g + "/*.response." + suf)
			files = append(files, f...)
		}
	}
	sort.Strings(files)
	for _, f := range files {
		b, _ := os.ReadFile(f)
		head, err := os.ReadFile(strings.NewReplacer(".response.sse", ".response.head.json", ".response.body", ".response.head.json").Replace(f))
		mt, status := "text/event-stream", int64(200)
		if err == nil {
			h := gjson.ParseBytes(head)
			status = h.Get("status").Int()
			mt, _, _ = strings.Cut(h.Get("headers.content-type").String(), ";")
			if mt == "" {
				mt, _, _ = strings.Cut(h.Get("headers.Content-Type").String(), ";")
			}
			if strings.Contains(string(head), "IncompleteRead") || strings.Contains(string(head), "cut") {
				b = append(b, "<cut>"...)
			}
		}
		reqb, _ := os.ReadFile(strings.NewReplacer(".response.sse", ".request.json", ".response.body", ".request.json").Replace(f))
		d := newDialect(t, Options{Reasoning: true})
		l := &log{}
		in := input(t, "")
		r := translate.Request{Input: in, Came: in.Messages, Transcript: l}
		run := newRun(d, r, newIDs(r))
		body := gjson.GetBytes(reqb, "body.prompt")
		if body.IsArray() {
			run.listed = true
			if len(body.Array()) > 0 {
				p := agui.Pause{ID: "x"}
				for _, v := range body.Array() {
					p.Interrupts = append(p.Interrupts, agui.Interrupt{Native: v.Get("interruptResponse.interruptId").Str})
				}
				run.resumed = &p
			} else {
				run.refused = newRun(d, r, newIDs(r))
			}
		}
		var p played
		if status/100 != 2 {
			res, err := run.End(translate.End{Status: int(status), Body: b})
			p = played{t: t, result: res, err: err}
		} else {
			p = play(t, run, l, mt, string(b))
		}
		extra := ""
		if p.result.Lost {
			extra += " LOST"
		}
		if p.result.Nothing {
			extra += " NOTHING"
		}
		if p.result.Next != nil {
			extra += " NEXT " + string(p.result.Next.Out.Body)
		}
		if len(p.result.Untaken) > 0 {
			extra += " UNTAKEN"
		}
		fmt.Printf("%s [%s %d]\n    %s\n    asks: %s%s\n", strings.TrimPrefix(f, "/tmp/"), mt, status, cut(p.types(), 700), p.asks(), extra)
		if p.err != nil {
			fmt.Println("   ERR", p.err)
		}
	}
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n/2] + " ... " + s[len(s)-n/2:]
	}
	return s
}
