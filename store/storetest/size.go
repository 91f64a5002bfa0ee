package storetest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// The sizes, in bytes, of the parts of a thread that Measure writes. The texts are random, so that
// they cannot be compressed, as with an encrypted record.
const (
	objectBytes   = 400  // of one interrupt
	messagesBytes = 4000 // of the paused run; the end of the thread has the same size
	stateBytes    = 500
)

// Measure opens a pause with one question in each of n threads, and then answers all questions. It
// returns how many bytes a thread takes while its pause is open, and after its end. The parameter
// size returns the current size of the store in bytes.
func Measure(t *testing.T, s store.Store, n int, size func() int64) (waiting, ended int64) {
	t.Helper()
	all := func(do func(key store.Key, id string) error) int64 {
		var done sync.WaitGroup
		work := make(chan int)
		for range 16 {
			done.Go(func() {
				for i := range work {
					if err := do(store.Key(fmt.Sprintf("agent/thread-%08d", i)), fmt.Sprintf("%032d", i)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for i := range n {
			work <- i
		}
		close(work)
		done.Wait()
		return size()
	}
	before := size()
	asked := all(func(key store.Key, id string) error {
		return Do(t.Context(), s, key, store.Ask{Pause: agui.Pause{
			ID: id, Dialect: "agui", Interrupts: []agui.Interrupt{{ID: id + "~1", Native: id, Object: text(objectBytes)}},
			SeenMessages: []agui.SeenMessage{{ID: id}}, Messages: text(messagesBytes), State: text(stateBytes),
		}})
	})
	answered := all(func(key store.Key, id string) error {
		if _, err := s.Do(t.Context(), key, store.Claim{PauseID: id, Token: "token of " + id, Digest: "digest", Lease: time.Hour}); err != nil {
			return err
		}
		return Do(t.Context(), s, key, store.Finish{Token: "token of " + id, Result: store.Result{
			EndKind: store.Finished, Finish: json.RawMessage(`{"type":"RUN_FINISHED"}`), Messages: text(messagesBytes), State: text(stateBytes),
		}})
	})
	waiting, ended = (asked-before)/int64(n), (answered-before)/int64(n)
	t.Logf("a thread that waits takes %d bytes, and %d after its end", waiting, ended)
	return waiting, ended
}

// text returns a JSON string of about n bytes that cannot be compressed.
func text(n int) json.RawMessage {
	b := make([]byte, (n-2)*3/4)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return json.RawMessage(`"` + base64.RawStdEncoding.EncodeToString(b) + `"`)
}
