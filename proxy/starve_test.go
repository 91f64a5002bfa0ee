package proxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestLargeBodiesDoNotStarveEachOther: bodies that come at once wait for each other. Each takes all
// its room or none, so one of them can always go on, and all are read in the end.
func TestLargeBodiesDoNotStarveEachOther(t *testing.T) {
	for name, declared := range map[string]bool{"with a length": true, "in chunks": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const limit, clients = 1 << 20, 6
				// Room for two large bodies and not for three.
				h := &Handler{opts: Options{MaxRequestBytes: limit}, bodyRoom: &bodyRoom{limit: 3 << 20}}
				whole := `{"x":"` + strings.Repeat("x", 900<<10) + `"}`
				var done sync.WaitGroup
				for range clients {
					done.Go(func() {
						body, client := io.Pipe()
						go func() {
							_, _ = io.WriteString(client, whole[:len(whole)/2])
							time.Sleep(roomWait / 4)
							_, _ = io.WriteString(client, whole[len(whole)/2:])
							client.Close()
						}()
						req := httptest.NewRequest(http.MethodPost, "/", body)
						req.ContentLength = -1
						if declared {
							req.ContentLength = int64(len(whole))
						}
						read, _, err := h.readBody(httptest.NewRecorder(), req, bodyType{})
						if err != nil || len(read) != len(whole) {
							t.Errorf("%d of %d bytes: %v", len(read), len(whole), err)
						}
						body.Close()
					})
				}
				done.Wait()
				if h.bodyRoom.taken != 0 {
					t.Errorf("%d bytes of room are not given back", h.bodyRoom.taken)
				}
			})
		})
	}
}
