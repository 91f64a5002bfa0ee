package scripted

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The files of testdata have requests to real .NET hosts and the responses of the hosts; see
// testdata/README.md. The ported host gets each request. Its response must be the same, byte for
// byte, except for ids and times.

// answerTo returns the response of a server to a body, with one event on each line. A last line
// "CUT" means that the server cut the connection off.
func answerTo(s *Server, body string) (answer string) {
	w := httptest.NewRecorder()
	defer func() {
		if thrown := recover(); thrown != nil {
			if thrown != http.ErrAbortHandler {
				panic(thrown)
			}
			answer = events(w) + "CUT\n"
		}
	}()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
	if w.Code != http.StatusOK {
		return fmt.Sprintf("HTTP %d\n", w.Code)
	}
	return events(w)
}

func events(w *httptest.ResponseRecorder) string {
	return strings.ReplaceAll(strings.ReplaceAll(w.Body.String(), "\n\n", "\n"), "data: ", "")
}

var (
	hostIDs   = regexp.MustCompile(`(ficc_)?call_[0-9a-zA-Z]+|msg_[0-9a-f]{8}|ask_[0-9a-f]{8}|[0-9a-f]{32}`)
	hostTimes = regexp.MustCompile(`"createdAt":"[^"]*"`)
)

// numbered replaces ids in a response with numbers, in the order in which the ids first appear. It
// keeps the ids that are also in the request.
func numbered(request, answer string) string {
	numbers := map[string]string{}
	answer = hostTimes.ReplaceAllString(answer, `"createdAt":"T"`)
	return hostIDs.ReplaceAllStringFunc(answer, func(id string) string {
		bare := strings.TrimPrefix(id, "ficc_")
		if strings.Contains(request, bare) {
			return id
		}
		if numbers[bare] == "" {
			numbers[bare] = fmt.Sprintf("#%d", len(numbers)+1)
		}
		return strings.TrimSuffix(id, bare) + numbers[bare]
	})
}

func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			line, scene, _ := strings.Cut(name, "-")
			wrapping := Plain
			switch {
			case line == "sdk" && strings.HasPrefix(scene, "step04"):
				wrapping = WrappedB
			case strings.HasPrefix(scene, "step04"):
				wrapping = Wrapped
			}
			server := Line(line).New(NewLedger(), wrapping)
			for n, turn := range strings.Split(string(text), "\n> ")[1:] {
				request, rest, _ := strings.Cut(turn, "\n")
				want := ""
				for one := range strings.Lines(rest) {
					want += strings.TrimPrefix(strings.TrimSpace(one), "< ") + "\n"
				}
				want = strings.TrimRight(want, "\n") + "\n"
				if got, want := numbered(request, answerTo(server, request)), numbered(request, want); got != want {
					t.Errorf("request %d: %s\nanswered\n%s\nwant\n%s", n+1, request, got, want)
				}
			}
		})
	}
}
