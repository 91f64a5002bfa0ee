package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdpoint/store"
	"holdpoint/store/memory"
)

// BenchmarkInMemory shows why the package memory does not use a Table. It measures a Load, and the
// steps of a pause with its answer, once with the package memory and once with the simplest Table
// in memory. n is the size of the snapshots in bytes.
func BenchmarkInMemory(b *testing.B) {
	for name, open := range map[string]func() store.Store{
		"memory": func() store.Store { return memory.New(memory.Options{}) },
		"table":  func() store.Store { return New(newMapTable(time.Now), Options{Sweep: -1}) },
	} {
		for _, n := range []int{1 << 10, 128 << 10} {
			messages := json.RawMessage(`["` + strings.Repeat("x", n) + `"]`)
			end := store.Result{EndKind: store.Finished, Messages: messages}
			answered := func(b *testing.B, s store.Store, key store.Key, id string) {
				p := asking(id)
				p.Messages = messages
				for _, step := range []store.Step{
					store.Ask{Pause: p}, store.Claim{PauseID: id, Token: id, Digest: "d", Lease: time.Minute},
					store.Renew{Token: id, Lease: time.Minute}, store.Finish{Token: id, Result: end},
				} {
					if _, err := s.Do(b.Context(), key, step); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.Run(fmt.Sprintf("Load/n=%d/%s", n, name), func(b *testing.B) {
				s := open()
				for pause := range 8 {
					answered(b, s, "k", fmt.Sprint(pause))
				}
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.Load(b.Context(), "k", ""); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprintf("pause/n=%d/%s", n, name), func(b *testing.B) {
				s := open()
				b.ReportAllocs()
				for pause := 0; b.Loop(); pause++ {
					answered(b, s, store.Key(fmt.Sprint(pause%100)), fmt.Sprint(pause))
				}
			})
		}
	}
}
