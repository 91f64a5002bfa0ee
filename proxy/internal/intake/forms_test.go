package intake

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"holdpoint/internal/test/hostile"
)

// TestUploadsThatSpeakOfForms: an upload contains a script in one very long line, as bundlers write
// it. Holdpoint must not read this line as the header of a part of a form.
func TestUploadsThatSpeakOfForms(t *testing.T) {
	const head = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.js\"\r\n\r\n"
	script := "var a=1;" + strings.Repeat(`h["Content-Disposition"]=["form-data; name=",b];`, 9) + strings.Repeat("f(x);", MaxPartHeader/4)
	run := "\r\nContent-Disposition: form-data; name=\"threadId\"\r\n\r\nt\r\n--x\r\nContent-Disposition: form-data; name=\"messages\"\r\n\r\n[]"
	for name, c := range map[string]struct {
		body string
		is   bool
	}{
		"a script":                  {head + script, false},
		"two":                       {head + script + "\n" + script, false},
		"a run behind it":           {head + script + "\r\n--x" + run, true},
		"a header that is too long": {head + "a\r\n--x\r\nContent-Disposition: form-data; n=\"" + strings.Repeat("y", MaxPartHeader) + "\"; name=\"a\"", true},
		"with a blank before it":    {head + "a\r\n--x\r\n Content-Disposition: form-data; n=\"" + strings.Repeat("y", MaxPartHeader) + "\"; name=\"a\"", true},
		"in the beginning":          {"Content-Disposition: form-data; n=\"" + strings.Repeat("y", MaxPartHeader) + "\"; name=\"a\"", true},
	} {
		for _, cut := range []int{1, 7, 512, 1 << 20} {
			var p formParts
			got := false
			for body := []byte(c.body); len(body) > 0 && !got; body = body[min(cut, len(body)):] {
				got = p.check(body[:min(cut, len(body))])
			}
			if got = got || p.checkRest(); got != c.is {
				t.Errorf("%s, in pieces of %d: %v", name, cut, got)
			}
		}
	}
}

// FuzzForms checks that Holdpoint finds every name in a form that net/url finds. It must find the
// same names if the bytes of the form arrive in pieces, wherever they are cut.
func FuzzForms(f *testing.F) {
	for _, body := range []string{
		"threadId=t&runId=r", "%74%68%72%65%61%64%49%64=t&%6Dessages[0][role]=user", "name=A&resume=text",
		"--x\r\nContent-Disposition: form-data; name=\"threadId\"\r\n\r\nt\r\n--x\r\ncontent-disposition:form-data;name=run_id\r\n\r\nr\r\n--x--\r\n",
		"--x\r\nContent-Disposition: form-data; name*=utf-8''threadId\r\n\r\nt\r\n--x--\r\n",
	} {
		f.Add([]byte(body), uint8(7))
	}
	f.Fuzz(func(t *testing.T, body []byte, cut uint8) {
		whole := runInParts(body)
		var p formParts
		found := false
		for rest := body; len(rest) > 0 && !found; {
			n := min(len(rest), int(cut)+1)
			found = p.check(rest[:n])
			rest = rest[n:]
		}
		if found = found || p.checkRest(); found != whole {
			t.Errorf("in pieces of %d: %v, at once: %v", cut+1, found, whole)
		}
		found = runInForm(body)
		if values, err := url.ParseQuery(string(body)); err == nil && values.Has("threadId") && values.Has("runId") && !found {
			t.Errorf("%q passes", body)
		}
	})
}

// FuzzBodyType checks that Holdpoint takes no other charset for UTF-8, whatever the spelling of the
// header.
func FuzzBodyType(f *testing.F) {
	for _, line := range []string{"", "application/json", "application/json; charset=utf-8", `a/b;charset="utf-8"`, "a/b; charset*=utf-8''x", "a/b;charset=utf-7;a=1;a=2", "a/b; x=\"charset=utf-8\""} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got, err := readBodyType(http.Header{"Content-Type": {line}})
		if err != nil {
			return
		}
		lower := strings.ToLower(line)
		if at := strings.Index(lower, "charset"); at >= 0 && got.charset == utf8Text && !strings.Contains(lower[at:], "utf-8") && !strings.Contains(lower[at:], "utf8") {
			if _, empty, _ := strings.Cut(lower[at:], "="); strings.Trim(empty, "\" \t;") != "" {
				t.Errorf("%q is taken for UTF-8", line)
			}
		}
	})
}

// TestFormsCostWhatTheirBytesDo: some large bodies could make Holdpoint examine the same bytes
// again and again. It must examine no byte more than a few times.
func TestFormsCostWhatTheirBytesDo(t *testing.T) {
	const size = 4 << 20
	fill := func(s string) []byte { return bytes.Repeat([]byte(s), size/len(s)) }
	line := strings.Repeat("content-disposition ", MaxPartHeader/21) + "\n"
	for name, c := range map[string]struct {
		body []byte
		look func([]byte) bool
	}{
		"many fields":           {fill("a&"), runInForm},
		"many escapes":          {fill("%61[%62]&"), runInForm},
		"one long name":         {fill("["), runInForm},
		"parts of minus":        {fill("-"), runInParts},
		"headers one by one":    {fill("content-disposition\n"), runInParts},
		"headers in one line":   {fill(line), runInParts},
		"names of one header":   {fill("content-disposition:" + strings.Repeat("name=", 4) + strings.Repeat("x", 8000) + "\n"), runInParts},
		"continued to the next": {fill("content-disposition\n \n"), runInParts},
	} {
		begun := hostile.ProcessorTime(t)
		if c.look(c.body) {
			t.Errorf("%s: a run", name)
		}
		took := hostile.ProcessorTime(t) - begun
		if took > hostile.Limit {
			t.Errorf("%s: %v for %d MiB", name, took, size>>20)
		}
	}
}
