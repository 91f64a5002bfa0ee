package sse

import (
	"strings"
	"testing"
)

func TestData(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want string
		ok   bool
	}{
		{"one line", "data: {}\n\n", "{}", true},
		{"no space", "data:{}\n\n", "{}", true},
		{"only one space is removed", "data:  x \n\n", " x ", true},
		{"a tab is kept", "data:\tx\n\n", "\tx", true},
		{"several lines", "data: 1\ndata:2\r\ndata: 3\rdata\n\n", "1\n2\n3\n", true},
		{"between other fields", ": c\nevent: e\ndata: x\nid: 1\n\n", "x", true},
		{"no colon", "data\n\n", "", true},
		{"no value", "data:\n\n", "", true},
		{"colon in the value", "data: a: b\n\n", "a: b", true},
		{"rest", "data: x", "x", true},
		{"comment", ": data: x\n\n", "", false},
		{"other fields", "event: data\nid: data\nretry: 1\n\n", "", false},
		{"another name", "datax: 1\nDATA: 2\n data: 3\n\n", "", false},
		{"blank", "\r", "", false},
		{"empty", "", "", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, ok := Frame{Raw: []byte(test.in)}.Data([]byte("leftover"))
			if string(got) != test.want || ok != test.ok {
				t.Errorf("%q, %v; want %q, %v", got, ok, test.want, test.ok)
			}
		})
	}
}

func TestDataOfOneLineIsAPartOfTheFrame(t *testing.T) {
	f := Frame{Raw: []byte(": c\ndata: x\n\n")}
	data, _ := f.Data(nil)
	if &data[0] != &f.Raw[10] {
		t.Error("copied")
	}
	if _ = append(data, "yyy"...); string(f.Raw) != ": c\ndata: x\n\n" {
		t.Errorf("an append to the data changed the frame: %q", f.Raw)
	}
}

// TestByteOrderMarkCountsOnlyAtTheBeginOfTheStream: inside the stream a byte order mark is a part
// of the field's name, as it is to clients.
func TestByteOrderMarkCountsOnlyAtTheBeginOfTheStream(t *testing.T) {
	r := NewReader(strings.NewReader("\ufeffdata: 1\n\n\ufeffdata: 2\n\n"), 0)
	f, _ := r.Next()
	if data, ok := f.Data(nil); string(data) != "1" || !ok {
		t.Errorf("first frame: %q, %v", data, ok)
	}
	if other := f.AppendOther(nil); len(other) > 0 {
		t.Errorf("first frame: other lines %q", other)
	}
	f, _ = r.Next()
	if data, ok := f.Data(nil); ok {
		t.Errorf("second frame: %q", data)
	}
}

func TestAppendLF(t *testing.T) {
	for in, want := range map[string]string{
		"data: x\n\n":                  "data: x\n\n",
		"data: x\r\n\r\n":              "data: x\n\n",
		"data: x\r\r":                  "data: x\n\n",
		"a\r\nb\rc\n\r":                "a\nb\nc\n\n",
		"data: {\"a\":\"\\r\\n\"}\n\n": "data: {\"a\":\"\\r\\n\"}\n\n",
		"unfinished":                   "unfinished",
		"unfinished\r":                 "unfinished\n",
		"\ufeffdata: x\n\n":            "\ufeffdata: x\n\n",
	} {
		f := Frame{Raw: []byte(in)}
		if got := string(f.AppendLF([]byte("> "))); got != "> "+want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if f.HasCR() != (in != want) {
			t.Errorf("%q: HasCR %v", in, f.HasCR())
		}
	}
}

func TestSecondHalfOfACRLFAddsNoBlankLine(t *testing.T) {
	r := NewReader(strings.NewReader("data: x\r\n\r\n\n"), 0)
	var lf []byte
	for _, want := range []struct {
		raw, lf string
		cr      bool
	}{
		{"data: x\r\n\r", "data: x\n\n", true},
		{"\n", "", true},
		{"\n", "\n", false},
	} {
		f, err := r.Next()
		if lf = f.AppendLF(lf[:0]); err != nil || string(f.Raw) != want.raw || string(lf) != want.lf || f.HasCR() != want.cr {
			t.Errorf("%q: %q, HasCR %v, %v; want %+v", f.Raw, lf, f.HasCR(), err, want)
		}
	}
}

func TestAppendOther(t *testing.T) {
	for in, want := range map[string]string{
		"data: x\n\n": "",
		"\n":          "",
		": c\r\nevent: e\rdata: 1\nid: 2\ndata\nretry: 3\nodd\n\n": ": c\nevent: e\nid: 2\nretry: 3\nodd\n",
		": unfinished": ": unfinished\n",
	} {
		if got := string(Frame{Raw: []byte(in)}.AppendOther([]byte("> "))); got != "> "+want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestAppendEvent(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`:                 "data: {\"a\":1}\n\n",
		" x":                      "data:  x\n\n",
		"":                        "data: \n\n",
		"{}\n":                    "data: {}\n\n",
		"\n":                      "data: \n\n",
		"{\r\n\"a\":\r1\n\n\n}":   "data: {\ndata: \"a\":\ndata: 1\ndata: \ndata: \ndata: }\n\n",
		"1\n\ndata: {\"evil\":1}": "data: 1\ndata: \ndata: data: {\"evil\":1}\n\n",
	} {
		got := AppendEvent([]byte(": c\n"), []byte(in))
		if string(got) != ": c\n"+want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if frames, _ := takeAll(strings.NewReader(string(got)), 0); len(frames) != 1 || frames[0].rest {
			t.Errorf("%q: reads as %q", in, raws(frames))
		}
	}
}

func TestNameAndComments(t *testing.T) {
	for raw, want := range map[string][2]string{
		"event: a\ndata: x\n\n":                   {"a", ""},
		"event:a\r\n: hi\r\n:\r\ndata: x\r\n\r\n": {"a", ": hi\n:\n\n"},
		"event: a\nevent:  b\n\n":                 {" b", ""},
		"event\n\n":                               {"", ""},
		"events: a\n\n":                           {"", ""},
		"\ufeff: x\n\n":                           {"", ""},
		": only\n\n":                              {"", ": only\n\n"},
	} {
		f := Frame{Raw: []byte(raw)}
		if got := [2]string{string(f.Name()), string(f.AppendComments(nil))}; got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
	if f := (Frame{Raw: []byte("data: x\n\n")}); f.Name() != nil {
		t.Error("a frame without a name has one")
	}
	if got := string((Frame{Raw: []byte(": b\n\n")}).AppendComments([]byte("data: a\n\n"))); got != "data: a\n\n: b\n\n" {
		t.Errorf("%q", got)
	}
}
