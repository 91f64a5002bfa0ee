package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"holdpoint/internal/test/hostile"
)

// A taken frame has the content of a frame that a Reader returned, and the results of its methods.
type taken struct {
	raw  string
	lf   string
	data string
	has  bool
	rest bool
}

// takeAll reads src to its end, and returns all frames and the final error.
func takeAll(src io.Reader, max int) (frames []taken, err error) {
	r := NewReader(src, max)
	for {
		ready := r.Ready()
		f, err := r.Next()
		if ready && err != nil {
			return nil, fmt.Errorf("ready, but: %w", err)
		}
		if len(f.Raw) > 0 {
			data, has := f.Data(nil)
			frames = append(frames, taken{string(f.Raw), string(f.AppendLF(nil)), string(data), has, err != nil})
		} else if err == nil {
			return nil, errors.New("empty frame")
		}
		if err != nil {
			if f, again := r.Next(); again != err || f.Raw != nil {
				return nil, fmt.Errorf("error does not stay: %v, then %q, %v", err, f.Raw, again)
			}
			return frames, err
		}
	}
}

func raws(frames []taken) []string {
	var s []string
	for _, f := range frames {
		s = append(s, f.raw)
	}
	return s
}

// cuts is a source whose Read returns at most one of its parts.
type cuts [][]byte

func (c *cuts) Read(p []byte) (int, error) {
	if len(*c) == 0 {
		return 0, io.EOF
	}
	n := copy(p, (*c)[0])
	if (*c)[0] = (*c)[0][n:]; len((*c)[0]) == 0 {
		*c = (*c)[1:]
	}
	return n, nil
}

// partition returns s as a source, split at each position whose bit is set in bits.
func partition(s string, bits int) *cuts {
	var c cuts
	from := 0
	for i := 1; i < len(s); i++ {
		if bits&(1<<(i-1)) != 0 {
			c = append(c, []byte(s[from:i]))
			from = i
		}
	}
	if from < len(s) {
		c = append(c, []byte(s[from:]))
	}
	return &c
}

// shapes are sources through which the same bytes arrive in different pieces.
var shapes = map[string]func(io.Reader) io.Reader{
	"whole":           func(r io.Reader) io.Reader { return r },
	"one byte":        iotest.OneByteReader,
	"half":            iotest.HalfReader,
	"error with data": iotest.DataErrReader,
}

func TestNext(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want []string // a last frame without a blank line is unfinished
	}{
		{"nothing", "", nil},
		{"LF", "data: x\n\ndata: y\n\n", []string{"data: x\n\n", "data: y\n\n"}},
		{"CRLF: the last LF is a frame of its own", "data: x\r\n\r\ndata: y\r\n\r\n",
			[]string{"data: x\r\n\r", "\n", "data: y\r\n\r", "\n"}},
		{"CR", "data: x\r\rdata: y\r\r", []string{"data: x\r\r", "data: y\r\r"}},
		{"LF then CRLF", "data: x\n\r\n\n", []string{"data: x\n\r", "\n", "\n"}},
		{"CRLF then LF", "data: x\r\n\ndata: y\n\n", []string{"data: x\r\n\n", "data: y\n\n"}},
		{"CR then LF is one line end", "data: x\r\ndata: y\n\n", []string{"data: x\r\ndata: y\n\n"}},
		{"LF then CR are two", "data: x\n\rdata: y", []string{"data: x\n\r", "data: y"}},
		{"blank lines alone", "\n\n\r\r\n", []string{"\n", "\n", "\r", "\r", "\n"}},
		{"several lines", ": c\nevent: e\ndata: 1\ndata: 2\nid: 3\n\n", []string{": c\nevent: e\ndata: 1\ndata: 2\nid: 3\n\n"}},
		{"heartbeat comment", ": ping\n\ndata: x\n\n", []string{": ping\n\n", "data: x\n\n"}},
		{"rest without line end", "data: x\n\ndata: y", []string{"data: x\n\n", "data: y"}},
		{"rest without blank line", "data: x\n", []string{"data: x\n"}},
		{"rest that ends in CR", "data: x\r", []string{"data: x\r"}},
		{"UTF-8 and NUL", "data: \xe2\x82\xac\x00\xff\n\n\xe2\x82", []string{"data: \xe2\x82\xac\x00\xff\n\n", "\xe2\x82"}},
		{"U+2028 and U+0085 are no line ends", "data: a\u2028\u2028b\u0085\u0085\n\n", []string{"data: a\u2028\u2028b\u0085\u0085\n\n"}},
		{"byte order mark", "\ufeffdata: x\n\n", []string{"\ufeffdata: x\n\n"}},
		{"longer than a buffer", "data: " + strings.Repeat("x", 3*maxBuffer) + "\n\ndata: y\n\n",
			[]string{"data: " + strings.Repeat("x", 3*maxBuffer) + "\n\n", "data: y\n\n"}},
	}
	for _, test := range tests {
		for shape, cut := range shapes {
			t.Run(test.name+"/"+shape, func(t *testing.T) {
				got, err := takeAll(cut(strings.NewReader(test.in)), 0)
				if err != io.EOF {
					t.Errorf("error %v, want EOF", err)
				}
				if !slices.Equal(raws(got), test.want) {
					t.Errorf("frames %q\nwant   %q", raws(got), test.want)
				}
			})
		}
	}
}

// TestEveryPartitionGivesTheSameFrames: the test splits each string of up to six significant
// letters in each possible way. The frames must always be the same.
func TestEveryPartitionGivesTheSameFrames(t *testing.T) {
	const letters = "\r\n:d"
	inputs := []string{""}
	for from := 0; len(inputs[len(inputs)-1]) < 6; from++ {
		for _, c := range letters {
			inputs = append(inputs, inputs[from]+string(c))
		}
	}
	inputs = append(inputs, "data:x\r\n\r\n:\r\n\r\n", "\ufeffdata:x\n\rdata", "data\r\n\r\n\n\r\r\nd\n")
	for _, in := range inputs {
		want, err := takeAll(strings.NewReader(in), 0)
		if err != io.EOF || strings.Join(raws(want), "") != in {
			t.Fatalf("%q: frames %q, %v", in, raws(want), err)
		}
		var lf string
		for _, f := range want {
			lf += f.lf
		}
		if lf != normalised(in) {
			t.Fatalf("%q: with LF %q, want %q", in, lf, normalised(in))
		}
		for bits := 1; bits < 1<<max(0, len(in)-1); bits++ {
			got, err := takeAll(partition(in, bits), 0)
			if err != io.EOF || !slices.Equal(got, want) {
				t.Fatalf("%q cut as %b: frames %+v, want %+v, error %v", in, bits, got, want, err)
			}
		}
	}
}

func TestNextDoesNotWaitForBytesBehindTheFrame(t *testing.T) {
	for _, in := range []string{"data: x\n\n", "data: x\r\r", "data: x\r\n\r\n", "data: x\n\r\n", ": c\r\n\n", "\n", "\r\n"} {
		read := 0
		src := iotest.OneByteReader(io.TeeReader(strings.NewReader(in+in), writerFunc(func(p []byte) { read += len(p) })))
		r := NewReader(src, 0)
		for returned := 0; returned < len(in+in); {
			f, err := r.Next()
			if err != nil {
				t.Fatalf("%q: %v", in, err)
			}
			if returned += len(f.Raw); read != returned {
				t.Errorf("%q: read %d bytes to return %d", in, read, returned)
			}
			if r.Ready() {
				t.Errorf("%q: ready, with nothing in memory", in)
			}
		}
	}
}

type writerFunc func(p []byte)

func (w writerFunc) Write(p []byte) (int, error) { w(p); return len(p), nil }

func TestReadySaysWhatIsInMemory(t *testing.T) {
	r := NewReader(&cuts{[]byte("data: 1\n\ndata: 2\r\n\r\ndata: 3"), []byte("\n\n")}, 0)
	if r.Ready() {
		t.Error("ready before the first Read")
	}
	for _, want := range []struct {
		raw   string
		ready bool // what Ready must return after the frame
	}{{"data: 1\n\n", true}, {"data: 2\r\n\r", true}, {"\n", false}, {"data: 3\n\n", false}} {
		f, err := r.Next()
		if err != nil || string(f.Raw) != want.raw || r.Ready() != want.ready {
			t.Errorf("got %q, %v, ready %v; want %q, ready %v", f.Raw, err, r.Ready(), want.raw, want.ready)
		}
	}
	if _, err := r.Next(); err != io.EOF || r.Ready() {
		t.Errorf("at the end: %v, ready %v", err, r.Ready())
	}
}

func TestErrorOfTheSource(t *testing.T) {
	broken := errors.New("connection reset")
	tests := []struct {
		name string
		src  io.Reader
		want []string
		err  error
	}{
		{"behind a whole frame", io.MultiReader(strings.NewReader("data: x\n\n"), iotest.ErrReader(broken)), []string{"data: x\n\n"}, broken},
		{"in a frame", io.MultiReader(strings.NewReader("data: x\n\ndata"), iotest.ErrReader(broken)), []string{"data: x\n\n", "data"}, broken},
		{"together with bytes", iotest.DataErrReader(io.MultiReader(strings.NewReader("data: x\n\ndata: y\n\nda"), iotest.ErrReader(broken))),
			[]string{"data: x\n\n", "data: y\n\n", "da"}, broken},
		{"a cut body", io.MultiReader(strings.NewReader("data"), iotest.ErrReader(io.ErrUnexpectedEOF)), []string{"data"}, io.ErrUnexpectedEOF},
		{"no bytes and no error, for ever", idle{}, nil, io.ErrNoProgress},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := takeAll(test.src, 0)
			if err != test.err || !slices.Equal(raws(got), test.want) {
				t.Errorf("frames %q, %v; want %q, %v", raws(got), err, test.want, test.err)
			}
			for i, f := range got {
				if whole := strings.HasSuffix(f.raw, "\n\n"); f.rest == whole {
					t.Errorf("frame %d, %q: with error %v", i, f.raw, f.rest)
				}
			}
		})
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestAFewEmptyReadsAreNoError(t *testing.T) {
	c := &cuts{[]byte("data: "), {}, {}, []byte("x\n\n")}
	got, err := takeAll(c, 0)
	if err != io.EOF || !slices.Equal(raws(got), []string{"data: x\n\n"}) {
		t.Errorf("frames %q, %v", raws(got), err)
	}
}

func TestFrameTooLarge(t *testing.T) {
	const limit = 20
	whole := "data: " + strings.Repeat("x", limit-len("data: \n\n")) + "\n\n"
	tests := []struct {
		name string
		in   string
		want []string
		err  error
	}{
		{"just fits", whole + whole, []string{whole, whole}, io.EOF},
		{"one byte more", whole + "x" + whole + whole, []string{whole}, &TooLargeError{limit}},
		{"rest that fits", whole + whole[:limit-1], []string{whole, whole[:limit-1]}, io.EOF},
		{"rest that is too large", whole + "xx" + whole[:limit-1], []string{whole}, &TooLargeError{limit}},
		{"never ends", strings.Repeat("x", 100), nil, &TooLargeError{limit}},
	}
	for _, test := range tests {
		for shape, cut := range shapes {
			t.Run(test.name+"/"+shape, func(t *testing.T) {
				got, err := takeAll(cut(strings.NewReader(test.in)), limit)
				if fmt.Sprint(err) != test.err.Error() || !slices.Equal(raws(got), test.want) {
					t.Errorf("frames %q, %v; want %q, %v", raws(got), err, test.want, test.err)
				}
			})
		}
	}
	const text = "sse: frame exceeds 8388608 bytes (HOLDPOINT_MAX_FRAME_BYTES)"
	var tooLarge *TooLargeError
	if _, err := NewReader(endless{}, 8<<20).Next(); !errors.As(err, &tooLarge) || tooLarge.Max != 8<<20 || err.Error() != text {
		t.Errorf("error %v, want %s", err, text)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// A watched source calls watch at each Read. The test uses it to see how much the Reader holds.
type watched struct {
	src   io.Reader
	watch func(n int)
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.src.Read(p)
	w.watch(n)
	return n, err
}

func TestMemoryIsBoundedByTheLimit(t *testing.T) {
	for _, limit := range []int{1, 100, minBuffer, 50_000, 1 << 20, 8 << 20} {
		var r *Reader
		read, most := 0, 0
		r = NewReader(&watched{endless{}, func(n int) { read += n; most = max(most, len(r.buf)) }}, limit)
		if _, err := r.Next(); err == nil {
			t.Fatal("no error")
		}
		if most > limit+minBuffer || read > limit+minBuffer {
			t.Errorf("limit %d: buffer of %d bytes, %d bytes read", limit, most, read)
		}
		if r.buf != nil {
			t.Errorf("limit %d: the buffer is kept after the error", limit)
		}
	}
}

func TestBufferGrowsUnderLoadAndIsGivenBack(t *testing.T) {
	small := []byte("data: " + strings.Repeat("x", 200) + "\n\n")
	burst := bytes.Repeat(small, 10*maxBuffer/len(small))
	huge := []byte("data: " + strings.Repeat("x", 3<<20) + "\n\n")
	tests := []struct {
		name        string
		src         cuts
		least, most int // limits of the size of the largest buffer
	}{
		{"small frames one at a time", cuts{small, small, small}, minBuffer, minBuffer},
		{"burst", cuts{burst, small, small}, fastBuffer, fastBuffer},
		{"huge frame", cuts{huge, small, small}, len(huge), 2 * len(huge)},
		{"huge frame with the next one's begin", cuts{slices.Concat(huge, small[:9]), small[9:], small}, len(huge), 2 * len(huge)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var r *Reader
			var held []int
			r = NewReader(&watched{&test.src, func(int) { held = append(held, len(r.buf)) }}, 0)
			for {
				if _, err := r.Next(); err != nil {
					break
				}
			}
			if most := slices.Max(held); most < test.least || most > test.most {
				t.Errorf("largest buffer %d, want %d to %d", most, test.least, test.most)
			}
			if last := held[len(held)-1]; last != minBuffer {
				t.Errorf("buffer of %d bytes while the stream is idle", last)
			}
		})
	}
}

// TestHugeFrameTakesLinearTime: the Reader must not search or copy the same bytes again at each
// Read or at each line. If it did, this test would take minutes.
func TestHugeFrameTakesLinearTime(t *testing.T) {
	for name, line := range map[string]string{"one line": "xxxx", "LF": "xxx\n", "CR": "xxx\r", "short CR": "x\r", "CRLF": "xx\r\n"} {
		for shape, size := range map[string]int{"whole": 4 << 20, "one byte": 1 << 20} {
			t.Run(name+"/"+shape, func(t *testing.T) {
				in := strings.Repeat(line, size/len(line))
				began := hostile.ProcessorTime(t)
				got, err := takeAll(shapes[shape](strings.NewReader(in)), 0)
				if err != io.EOF || len(got) != 1 || got[0].raw != in {
					t.Fatalf("%d frames, %v", len(got), err)
				}
				// The correct Reader needs a fraction of a second. A Reader that searches a frame
				// from its beginning again for each line needs minutes.
				if took := hostile.ProcessorTime(t) - began; took > 20*time.Second {
					t.Errorf("took %v of the processor", took)
				}
			})
		}
	}
}

func TestAnAppendToAFrameLeavesTheNextOne(t *testing.T) {
	r := NewReader(strings.NewReader("data: 1\n\ndata: 2\n\n"), 0)
	f, _ := r.Next()
	_ = append(f.Raw, "xxx"...)
	if f, _ = r.Next(); string(f.Raw) != "data: 2\n\n" {
		t.Errorf("next frame %q", f.Raw)
	}
}

// A loop is an endless source that repeats its bytes. Each Read returns at most step bytes.
type loop struct {
	in   []byte
	step int
	at   int
}

func (l *loop) Read(p []byte) (int, error) {
	n := 0
	p = p[:min(len(p), l.step)]
	for n < len(p) {
		c := copy(p[n:], l.in[l.at:])
		n += c
		l.at = (l.at + c) % len(l.in)
	}
	return n, nil
}

var frame200 = `data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"` + strings.Repeat("x", 134) + "\"}\n\n"

func TestNoAllocationInSteadyState(t *testing.T) {
	const many = 1 << 30
	crlf := strings.ReplaceAll(frame200, "\n", "\r\n")
	large := "data: " + strings.Repeat("x", 5000) + "\n\n"
	lined := "event: e\ndata: 1\ndata: 2\n\n"
	for name, src := range map[string]*loop{
		"fast":                  {in: []byte(frame200), step: many},
		"one frame per read":    {in: []byte(frame200), step: len(frame200)},
		"half a frame per read": {in: []byte(frame200), step: len(frame200) / 2},
		"CRLF":                  {in: []byte(crlf), step: many},
		"several lines":         {in: []byte(lined), step: many},
		"limit of a transport":  {in: []byte(frame200), step: 30_000},
		"frames over a buffer":  {in: []byte(large), step: many},
		"frames in packets":     {in: []byte(large[:3500] + "\n\n"), step: 1400},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(src, 8<<20)
			out, data := make([]byte, 0, 8<<10), make([]byte, 0, 8<<10)
			next := func() {
				r.Ready()
				f, err := r.Next()
				if err != nil {
					t.Fatal(err)
				}
				f.Data(data)
				if f.HasCR() {
					f.AppendLF(out)
				}
				f.AppendOther(out)
			}
			for range 2000 {
				next()
			}
			if allocs := testing.AllocsPerRun(5000, next); allocs != 0 {
				t.Errorf("%v allocations per frame", allocs)
			}
		})
	}
}

func TestThroughHTTP(t *testing.T) {
	const frames = 20_000
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range frames {
			io.WriteString(w, frame200)
			http.NewResponseController(w).Flush()
		}
	}))
	defer server.Close()
	res, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	r := NewReader(res.Body, 8<<20)
	for n := 0; ; n++ {
		f, err := r.Next()
		if err == io.EOF && n == frames {
			break
		}
		if err != nil || string(f.Raw) != frame200 {
			t.Fatalf("frame %d: %q, %v", n, f.Raw, err)
		}
	}
}

// normalised returns the stream s with LF as line ends, and without a byte order mark.
func normalised(s string) string {
	s = strings.TrimPrefix(s, "\ufeff")
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// parsed returns the data of each event of the stream s, by the algorithm of the SSE specification.
func parsed(s string) []string {
	var events []string
	data := ""
	seen := false
	text := normalised(s)
	for {
		line, after, ended := strings.Cut(text, "\n")
		if !ended {
			return events
		}
		text = after
		name, value, _ := strings.Cut(line, ":")
		switch {
		case line == "" && seen:
			events = append(events, strings.TrimSuffix(data, "\n"))
			data, seen = "", false
		case name == "data":
			data += strings.TrimPrefix(value, " ") + "\n"
			seen = true
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, in := range []string{
		"", "data: x\n\n", "data: x\r\n\r\ndata: y\r\n\r\n", "data: x\r\rdata", "\r\n\r\n", "\n\r\n\r\r\n",
		"\ufeffdata: x\n\n\ufeffdata: y\n\n", "\ufeff\ndata: x\n\n", "data\n\n", "data\ndata\n\n", "data:\n\n", "data:  x\n\n",
		"dat: x\n\n", "datax: x\n\n", "Data: x\n\n", ": c\nevent: e\ndata: 1\ndata:2\nid: 3\nretry: 4\n\n", ": ping\r\n\r\n",
		"data: [DONE]\n\n", frame200, "data: \xe2\x82\xac\n\n\xe2",
	} {
		f.Add(in, 0)
		f.Add(in, 5)
	}
	f.Fuzz(func(t *testing.T, in string, limit int) {
		want, wantErr := takeAll(strings.NewReader(in), limit)
		var raw, lf, rest string
		var data []string
		for _, f := range want {
			raw += f.raw
			lf += f.lf
			if f.rest {
				rest = f.raw
			} else if f.has {
				data = append(data, f.data)
			}
		}
		var tooLarge *TooLargeError
		switch {
		case errors.As(wantErr, &tooLarge):
			if !strings.HasPrefix(in, raw) || len(in) == len(raw) {
				t.Errorf("frames %q are not the begin of %q", raws(want), in)
			}
		case wantErr != io.EOF:
			t.Error(wantErr)
		case raw != in:
			t.Errorf("frames %q are not %q", raws(want), in)
		default:
			if lf != normalised(in) {
				t.Errorf("with LF %q, want %q", lf, normalised(in))
			}
			if wantData := parsed(in); !slices.Equal(data, wantData) {
				t.Errorf("data %q, want %q", data, wantData)
			}
			if strings.HasSuffix(normalised(rest), "\n\n") {
				t.Errorf("rest %q has a blank line", rest)
			}
		}
		for shape, cut := range shapes {
			got, err := takeAll(cut(strings.NewReader(in)), limit)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) || !slices.Equal(got, want) {
				t.Errorf("%s: frames %+v, %v; want %+v, %v", shape, got, err, want, wantErr)
			}
		}
	})
}

func BenchmarkNext(b *testing.B) {
	huge := "data: " + strings.Repeat("x", 1500<<10) + "\n\n"
	for _, bench := range []struct {
		name string
		in   string
		step int
	}{
		{"200B", frame200, 1 << 30},
		{"200B/CRLF", strings.ReplaceAll(frame200, "\n", "\r\n"), 1 << 30},
		{"200B/one per read", frame200, len(frame200)},
		{"1.5MB", huge, 1 << 30},
		{"1.5MB/1400 bytes per read", huge, 1400},
	} {
		b.Run(bench.name, func(b *testing.B) {
			r := NewReader(&loop{in: []byte(bench.in), step: bench.step}, 8<<20)
			b.SetBytes(int64(len(bench.in)))
			b.ReportAllocs()
			for b.Loop() {
				f, err := r.Next()
				if err != nil {
					b.Fatal(err)
				}
				f.Data(nil)
				f.HasCR()
			}
		})
	}
}
