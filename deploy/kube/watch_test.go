//go:build kube && linux

package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// A watch records the states of the pods in a namespace, including pods that are gone.
type watch struct {
	mu    sync.Mutex
	pods  map[string]pod // the last state of each pod, by name
	gone  map[string]time.Time
	lines []string
	began time.Time
}

// watch starts to record the pods that match selector.
func (s *space) watch(selector string) *watch {
	s.t.Helper()
	w := &watch{pods: map[string]pod{}, gone: map[string]time.Time{}, began: time.Now()}
	ctx, cancel := context.WithCancel(context.Background())
	s.t.Cleanup(cancel)
	path := "/api/v1/namespaces/" + s.name + "/pods?labelSelector=" + strings.ReplaceAll(selector, "=", "%3D")
	version, err := w.list(path)
	if err != nil {
		s.t.Fatal(err)
	}
	go func() {
		for ctx.Err() == nil {
			w.follow(ctx, path+"&watch=1&resourceVersion="+version) // the API server may end a watch at any time
			if next, err := w.list(path); err == nil {
				version = next
			}
		}
	}()
	return w
}

// list records the pods that exist now. If a pod was recorded earlier and no longer exists, list
// records that it was deleted. It returns the resourceVersion from which a watch can continue.
func (w *watch) list(path string) (string, error) {
	var now struct {
		Metadata struct{ ResourceVersion string }
		Items    []pod
	}
	if err := ask(http.MethodGet, path, nil, &now); err != nil {
		return "", err
	}
	for _, p := range now.Items {
		w.add("", p)
	}
	for _, p := range w.others(names(now.Items)...) {
		if _, gone := w.last(p.Metadata.Name); !gone {
			w.add("DELETED", p)
		}
	}
	return now.Metadata.ResourceVersion, nil
}

// follow records each change of a pod, until the API server ends the request.
func (w *watch) follow(ctx context.Context, path string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://127.0.0.1:6443"+path, nil)
	if err != nil {
		return
	}
	resp, err := (&http.Client{Transport: api.Transport}).Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	for dec := json.NewDecoder(resp.Body); ; {
		var change struct {
			Type   string
			Object json.RawMessage // for type ERROR the object is not a pod
		}
		var p pod
		if dec.Decode(&change) != nil || change.Type == "ERROR" || json.Unmarshal(change.Object, &p) != nil {
			return
		}
		w.add(change.Type, p)
	}
}

func (w *watch) add(change string, p pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := p.Metadata.Name
	line := p.describe()
	if change == "DELETED" {
		w.gone[name] = time.Now()
		line += " (gone)"
	}
	w.pods[name] = p
	w.lines = append(w.lines, fmt.Sprintf("%6.1f s  %s", time.Since(w.began).Seconds(), line))
}

// last returns the last recorded state of the pod, and whether the pod is gone.
func (w *watch) last(name string) (pod, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, gone := w.gone[name]
	return w.pods[name], gone
}

// others returns the last states of all recorded pods, except those with these names.
func (w *watch) others(names ...string) []pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []pod
	for name, p := range w.pods {
		if !slices.Contains(names, name) {
			list = append(list, p)
		}
	}
	return list
}

// String returns everything that the watch has recorded, a line for each change.
func (w *watch) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.lines, "\n")
}

// A traffic sends short runs through a Service, one each 200 ms, without waiting for the end of the
// previous one.
type traffic struct {
	mu   sync.Mutex
	list []*run
	stop chan struct{}
	done chan struct{}
}

// traffic starts to send short runs to the URL.
func (s *space) traffic(url string) *traffic {
	f := &traffic{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(f.done)
		for ticker := time.NewTicker(200 * time.Millisecond); ; {
			f.mu.Lock()
			f.list = append(f.list, send(url, fmt.Sprintf("short-%s-%d", s.name, len(f.list)), map[string]any{"messages": []any{map[string]any{"id": "m1", "role": "user", "content": "hello"}}}, time.Minute))
			f.mu.Unlock()
			select {
			case <-ticker.C:
			case <-f.stop:
				ticker.Stop()
				return
			}
		}
	}()
	s.t.Cleanup(f.end)
	return f
}

// end stops the traffic, and waits until all of its runs have ended.
func (f *traffic) end() {
	select {
	case <-f.stop:
	default:
		close(f.stop)
	}
	<-f.done
	for _, r := range f.list {
		r.wait()
	}
}

// flows reports whether the ten latest runs that have ended all succeeded.
func (f *traffic) flows() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	fine := 0
	for _, r := range slices.Backward(f.list) {
		select {
		case <-r.done:
		default:
			continue
		}
		if r.result() != "" {
			return false
		}
		if fine++; fine == 10 {
			return true
		}
	}
	return false
}

// sum ends the traffic, and counts the runs that began after the parameter since. dark is how long
// runs failed, lost is how many failed, and sent is how many were sent. results says how the lost
// runs ended.
func (f *traffic) sum(since time.Time) (dark time.Duration, lost, sent int, results []string) {
	f.end()
	var from time.Time
	counts := map[string]int{}
	for _, r := range f.list {
		if r.began.Before(since) {
			continue
		}
		sent++
		if result := r.result(); result != "" {
			lost++
			switch {
			case strings.Contains(result, "dial tcp"):
				result = "no connection"
			case strings.HasPrefix(result, "cut: "):
				result = "cut"
			}
			counts[result]++
			if from.IsZero() {
				from = r.began
			}
		} else if !from.IsZero() {
			dark += r.began.Sub(from)
			from = time.Time{}
		}
	}
	for result, n := range counts {
		results = append(results, fmt.Sprintf("%d x %s", n, result))
	}
	slices.Sort(results)
	return dark, lost, sent, results
}
