package proxy

import (
	"net/http"
	"testing"
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
