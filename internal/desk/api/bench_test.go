//go:build unix

package api

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"holdpoint/internal/test/servers"
	"holdpoint/store"
	"holdpoint/store/engine"
	"holdpoint/store/memory"
	"holdpoint/store/postgres"
	"holdpoint/store/redis"
)

// BenchmarkList measures two requests on a store with this many open threads: a page of the open
// approvals, and the approvals of a thread that does not exist. The second one looks at 2000
// records.
func BenchmarkList(b *testing.B) {
	for _, e := range []struct {
		name    string
		threads int
		open    func(b *testing.B) store.Store
	}{
		{"memory", 10_000, inMemoryFor},
		{"memory", 100_000, inMemoryFor},
		{"redis", 10_000, func(b *testing.B) store.Store {
			u, _ := url.Parse("redis://" + servers.StartRedis(b, servers.RedisOptions{}).Addr())
			a, err := redis.Parse(u)
			if err != nil {
				b.Fatal(err)
			}
			s, err := redis.Open(b.Context(), a, redis.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = s.Stop() })
			return s
		}},
		{"postgres", 10_000, func(b *testing.B) store.Store {
			server := servers.StartPostgres(b, servers.PostgresOptions{})
			c, err := postgres.Parse(server.URL(), "")
			if err != nil {
				b.Fatal(err)
			}
			s, err := postgres.Open(c, engine.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = s.Stop() })
			return s
		}},
	} {
		b.Run(fmt.Sprintf("%s/%dk", e.name, e.threads/1000), func(b *testing.B) {
			d := deskOf(b, e.open(b), e.threads)
			for name, query := range map[string]string{"page": "", "thread": "?thread=nobody"} {
				b.Run(name, func(b *testing.B) {
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
		})
	}
}

func inMemoryFor(*testing.B) store.Store {
	return memory.New(memory.Options{Entries: 100_000, Bytes: 1 << 30})
}

// deskOf returns a desk on the store kept, in which it opens this many threads.
func deskOf(b *testing.B, kept store.Store, threads int) *Desk {
	b.Helper()
	list, err := ParseTokens(secret)
	if err != nil {
		b.Fatal(err)
	}
	var tokens Tokens
	tokens.Set(list)
	var all sync.WaitGroup
	for first := range 16 {
		all.Go(func() {
			for n := first; n < threads; n += 16 {
				if _, err := kept.Do(b.Context(), keyOf(n), store.Ask{Pause: pause(n, "refund", `{"amount":1}`)}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return New(Options{Store: kept, Tokens: &tokens})
}
