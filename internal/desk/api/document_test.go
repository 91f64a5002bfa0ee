package api

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"holdpoint/internal/agui"
)

// document is docs/desk-api.yaml. Its objects are changed here so that they allow no further
// fields. So the tests find a field that the document does not describe. (A client must ignore such
// a field.)
var document = sync.OnceValues(func() (routers.Router, error) {
	doc, err := openapi3.NewLoader().LoadFromFile("../../../docs/desk-api.yaml")
	if err != nil {
		return nil, err
	}
	no := false
	for _, s := range doc.Components.Schemas {
		s.Value.AdditionalProperties = openapi3.AdditionalProperties{Has: &no}
	}
	return legacy.NewRouter(doc)
})

// undocumented has the codes of responses for paths and methods that the document does not have.
var undocumented = []string{codeNotFound, codeMethod}

// unsaid has the beginnings of queries that the desk refuses, but that the document cannot describe
// as wrong.
var unsaid = []string{"cursor=", "stat=", "tool=a&tool=b", "%zz"}

// documented fails the test unless the document describes the request and this form of the
// response.
func documented(t *testing.T, req *http.Request, res *http.Response, body []byte) {
	t.Helper()
	router, err := document()
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode == http.StatusMethodNotAllowed {
		return // the document has only the methods that exist
	}
	route, path, err := router.FindRoute(req)
	if err != nil {
		if !slices.ContainsFunc(undocumented, func(code string) bool { return strings.Contains(string(body), code) }) {
			t.Fatalf("%s %s is not in the document: %v: %s", req.Method, req.URL.Path, err, body)
		}
		return
	}
	in := &openapi3filter.RequestValidationInput{
		Request: req, PathParams: path, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, SkipSettingDefaults: true},
	}
	err = openapi3filter.ValidateRequest(req.Context(), in)
	if (err != nil) != (res.StatusCode == http.StatusBadRequest) && !slices.ContainsFunc(unsaid, func(q string) bool { return strings.HasPrefix(req.URL.RawQuery, q) }) {
		t.Errorf("%s %s: status %d, and by the document: %v", req.Method, req.URL, res.StatusCode, err)
	}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: res.StatusCode, Header: res.Header, Options: in.Options,
		Body: io.NopCloser(bytes.NewReader(body)),
	}
	if err := openapi3filter.ValidateResponse(req.Context(), out); err != nil {
		t.Errorf("%s %s: status %d is not as the document says: %v", req.Method, req.URL, res.StatusCode, err)
	}
}

// documentedPost does the same as documented for a request with the body sent. The document cannot
// describe every wrong body, so only the response is always checked.
func documentedPost(t *testing.T, req *http.Request, sent string, res *http.Response, body []byte) {
	t.Helper()
	router, err := document()
	if err != nil {
		t.Fatal(err)
	}
	route, path, err := router.FindRoute(req)
	if err != nil {
		t.Fatalf("POST %s is not in the document: %v", req.URL.Path, err)
	}
	req.Body = io.NopCloser(strings.NewReader(sent))
	in := &openapi3filter.RequestValidationInput{
		Request: req, PathParams: path, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true},
	}
	if err := openapi3filter.ValidateRequest(req.Context(), in); err != nil && res.StatusCode < 400 {
		t.Errorf("POST %s: %s was taken, and by the document: %v", req.URL, sent, err)
	}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: res.StatusCode, Header: res.Header, Options: in.Options, Body: io.NopCloser(bytes.NewReader(body)),
	}
	if err := openapi3filter.ValidateResponse(req.Context(), out); err != nil {
		t.Errorf("POST %s: status %d is not as the document says: %v", req.URL, res.StatusCode, err)
	}
}

// problemCodes are the codes that responses of the desk may have.
var problemCodes = []string{
	codeUnauthenticated, codeTries, codeConnection, codeCrossOrigin, codeNotFound, codeMethod, codeParameter, codeNoApproval,
	codeInProgress, codeEnded, codeStore, codeAudit, codeUnread,
	codeForbidden, codeForged, codeKeys, codeChanges, codeNoSessions, codeNoTLS, codeAnother,
	codeNoQuestion, codeNoCall, codeNoDigest, codeDigest, codeNotKnown, codeNoPlace, codeDecided, codeElsewhere, codeMediaType,
	// Refusals of the proxy have these codes too.
	string(agui.InvalidPayload), string(agui.InterruptExpired), string(agui.ResumeConflict), string(agui.UnknownInterruptID),
	string(agui.ApprovalUncertain), string(agui.ApprovalAmbiguous), string(agui.UpstreamStatus), string(agui.InternalError),
}

// TestDocumentHasEveryCode: docs/desk-api.yaml must list the same codes as problemCodes.
func TestDocumentHasEveryCode(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromFile("../../../docs/desk-api.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, v := range doc.Components.Schemas["Code"].Value.Enum {
		listed = append(listed, v.(string))
	}
	known := slices.Clone(problemCodes)
	slices.Sort(listed)
	slices.Sort(known)
	if !slices.Equal(listed, known) {
		t.Errorf("the document has %q, the code %q", listed, known)
	}
}

// TestUndocumentedIsFound: a response has a field that the document does not describe. The check
// must fail.
func TestUndocumentedIsFound(t *testing.T) {
	if _, err := document(); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodGet, "/v1/approvals", nil)
	if err != nil {
		t.Fatal(err)
	}
	router, _ := document()
	route, path, err := router.FindRoute(req)
	if err != nil {
		t.Fatal(err)
	}
	in := &openapi3filter.RequestValidationInput{Request: req, PathParams: path, Route: route}
	for body, fine := range map[string]bool{
		`"approvals":[]}`: true, `"approvals":[],"more":1}`: false, `"next":"x"}`: false,
		`"approvals":[{"id":"x","state":"waiting","age":1,"questions":[]}]}`:         true,
		`"approvals":[{"id":"x","state":"waiting","age":1,"questions":[],"odd":1}]}`: false,
	} {
		body = `{"now":"2026-11-25T10:00:00Z",` + body
		err := openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: in, Status: 200, Header: http.Header{"Content-Type": {"application/json"}, "Etag": {"x"}},
			Body: io.NopCloser(strings.NewReader(body)),
		})
		if (err == nil) != fine {
			t.Errorf("%s: %v", body, err)
		}
	}
}
