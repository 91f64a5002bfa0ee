package api

import (
	"bytes"
	"encoding/base64"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/desk/policy"
)

// TestCursorTellsNothing: a cursor may point to a row that its caller may not list. It must reveal
// nothing about that row, and must not be forgeable. The pages must still contain all approvals
// that the caller may list.
func TestCursorTellsNothing(t *testing.T) {
	r := inMemory(t)
	file, err := policy.Parse([]byte("access:\n  - names: [operator]\n    agents: [billing]\n    tenants: [acme]\n    rights: [decide]\n"))
	r.must(err)
	var want []string
	for n := range 100 {
		p := pause(n, "refund", `{}`)
		if n%10 > 2 {
			p.Origin.Agent = "hr"
		} else {
			want = append(want, id(n))
		}
		r.open(n, p)
		r.clock.advance(1e6)
	}
	// free is the cursor of a caller who may list all approvals.
	free := r.ask(200, "GET", "/v1/approvals?limit=3").Get("next").Str
	r.desk.opts.Access = func() policy.Access { return file.Access }
	var got []string
	for next, pages := "", 0; ; pages++ {
		l := r.ask(200, "GET", "/v1/approvals?limit=4"+next)
		got = append(got, ids(l)...)
		c := l.Get("next").Str
		if c == "" {
			break
		}
		raw, err := base64.RawURLEncoding.DecodeString(c)
		r.must(err)
		for n := range 100 {
			if bytes.Contains(raw, []byte(keyOf(n))) {
				t.Errorf("the cursor has the key of %d", n)
			}
		}
		if bytes.ContainsAny(raw[:1], "{[") && bytes.Contains(raw, []byte("2026")) {
			t.Errorf("the cursor can be read: %s", raw)
		}
		if again := r.ask(200, "GET", "/v1/approvals?limit=4"+next).Get("next").Str; again != c {
			t.Errorf("the same page has another cursor: no poll would be a 304")
		}
		for n := range raw {
			if pages > 0 {
				break // it is enough to change the first cursor
			}
			bent := slices.Clone(raw)
			bent[n] ^= 1
			r.ask(400, "GET", "/v1/approvals?cursor="+base64.RawURLEncoding.EncodeToString(bent))
		}
		if next = "&cursor=" + c; pages > 100 {
			t.Fatal("the pages do not end")
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d approvals, want %d: %q", len(got), len(want), got)
	}
	for _, made := range []string{
		free, base64.RawURLEncoding.EncodeToString([]byte(`{"o":"2026-11-24T10:00:00Z","k":"` + string(keyOf(5)) + `"}`)),
		"x", "e30", strings.Repeat("A", 16), strings.Repeat("A", 38),
	} {
		if code := r.ask(400, "GET", "/v1/approvals?cursor="+made).Get("code").Str; code != codeParameter {
			t.Errorf("%q: %s", made, code)
		}
	}
}

// TestCursorUnderFIPS: the encryption of cursors must work if only algorithms of FIPS 140-3 are
// allowed.
func TestCursorUnderFIPS(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCursorTellsNothing$", "-test.v")
	cmd.Env = append(os.Environ(), "GODEBUG=fips140=only")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestCursorTellsNothing") {
		t.Errorf("%v\n%s", err, out)
	}
}
