package proxy

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/internal/principal"
	"holdpoint/store"
)

// TestHeadersThatSayWhoSends: these headers say who sends a request. If the request that asked had
// one, Holdpoint cannot send the decision by itself: without the header, the backend would act as
// another user, or without a user.
func TestHeadersThatSayWhoSends(t *testing.T) {
	for _, name := range []string{
		"Authorization", "Cookie", "X-Api-Key", "X-Forwarded-User", "X-Forwarded-Email", "X-Forwarded-Groups",
		"X-Auth-Request-Email", "X-Remote-User", "Remote-User", "X-User-Id", "X-Tenant-Id", "X-Goog-Iap-Jwt-Assertion",
		"X-Ms-Client-Principal", "X-Amzn-Oidc-Identity", "X-Amzn-Oidc-Data", "X-Org-Id", "X-Account", "Signature", "X-Role",
		"X-Forwarded-Preferred-Username", "X-Forwarded-Client-Cert", "X-Client-Cert",
	} {
		if !hasCredentials(http.Header{name: {"v"}}) {
			t.Errorf("%s does not count", name)
		}
	}
	for _, name := range []string{
		"User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "Content-Type", "Content-Length", "Origin", "Referer",
		"Sec-Fetch-User", "Sec-Ch-Ua", "Traceparent", "Tracestate", "X-Request-Id", "X-Forwarded-For", "X-Forwarded-Proto",
		"X-Forwarded-Host", "X-Real-Ip", "Upgrade-Insecure-Requests", "Cache-Control", "Dnt", "Priority", "Baggage",
	} {
		if hasCredentials(http.Header{name: {"v"}}) {
			t.Errorf("%s counts", name)
		}
	}
}

// TestConfiguredHeadersThatSayWhoSends: the operator has configured the headers that name user and
// tenant, and their names do not suggest it. Holdpoint does not keep these headers. So it must not
// send the decision by itself: the backend would act without a user, or without a tenant.
func TestConfiguredHeadersThatSayWhoSends(t *testing.T) {
	peers, err := principal.ParsePeers("127.0.0.0/8;::1")
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]principal.Options{
		"a user":   {PrincipalHeader: "X-Person", Keys: principal.Ring{[]byte(strings.Repeat("k", 32))}},
		"a tenant": {TenantHeader: "X-Customer"},
	} {
		t.Run(name, func(t *testing.T) {
			o.Peers = peers
			g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) { sendStream(w, streamOf(started, asks)) },
				func(p *Options) { p.OtherDoors, p.Gate = &OtherDoors{KeepsInput: true}, principal.New(o) })
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.front.URL+"/", strings.NewReader(input("t", "r1", "")))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = http.Header{"Content-Type": {"application/json"}, "X-Person": {"ann"}, "X-Customer": {"acme"}}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			page, err := g.store.List(t.Context(), store.Query{})
			if err != nil || len(page.Rows) != 1 {
				t.Fatal(page, err)
			}
			rec, err := g.store.Load(t.Context(), page.Rows[0].Key, "")
			if err != nil {
				t.Fatal(err)
			}
			if why := g.h.ChatOnlyReasons(rec.Pause); !slices.Contains(why, agui.NoCredentials) {
				t.Errorf("only the chat may send the decision because of %v", why)
			}
		})
	}
}

// TestDecisionNestedTooDeep: the value of a decision is nested deeper than the value of a chat's
// answer may be. It must be refused, because the backend and the store read less deep. The question
// must stay open.
func TestDecisionNestedTooDeep(t *testing.T) {
	d := newDeskRig(t, nil)
	for _, levels := range []int{agui.MaxDepth, 9998} {
		err := d.decides(d.says("y", strings.Repeat("[", levels)+strings.Repeat("]", levels)))
		if refused := (*agui.RunError)(nil); !errors.As(err, &refused) || refused.Code != agui.InvalidPayload {
			t.Errorf("%d levels: %v", levels, err)
		}
	}
	if rec := d.record(); rec.State != store.Open || len(rec.Pause.Decisions) != 0 {
		t.Errorf("the record is %q with %d decisions", rec.State, len(rec.Pause.Decisions))
	}
	const most = 900
	d.decide(d.says("y", strings.Repeat("[", most)+strings.Repeat("]", most)))
}
