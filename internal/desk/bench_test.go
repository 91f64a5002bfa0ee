package desk

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"holdpoint/store/memory"
)

// BenchmarkList is a page of what waits, and one that looks at 2000 records for a thread that is
// not there, with 10,000 and 100,000 threads in memory.
func BenchmarkList(b *testing.B) {
	for _, threads := range []int{10_000, 100_000} {
		list, err := ParseTokens(secret)
		if err != nil {
			b.Fatal(err)
		}
		var tokens Tokens
		tokens.Set(list)
		kept := memory.New(memory.Options{Entries: threads, Bytes: 1 << 30})
		for n := range threads {
			if err := kept.Open(b.Context(), keyOf(n), "", pause(n, "refund", `{"amount":1}`)); err != nil {
				b.Fatal(err)
			}
		}
		d := New(Options{Store: kept, Tokens: &tokens})
		for name, query := range map[string]string{"page": "", "thread": "?thread=nobody"} {
			b.Run(name+"/"+map[int]string{10_000: "10k", 100_000: "100k"}[threads], func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					req := httptest.NewRequest(http.MethodGet, "/v1/approvals"+query, nil)
					req.Header.Set("Authorization", "Bearer "+secret)
					w := httptest.NewRecorder()
					if d.ServeHTTP(w, req); w.Code != http.StatusOK {
						body, _ := io.ReadAll(w.Body)
						b.Fatalf("%d %s", w.Code, body)
					}
				}
			})
		}
	}
}
