package admin

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"holdpoint/internal/edge/listen"
)

// Ask sends a request to the admin listener at the address, and returns the body of the response.
// Any status except 200 is an error.
func Ask(ctx context.Context, at listen.Address, method, path string) (string, error) {
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return at.Dial(ctx) },
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://holdpoint"+path, nil)
	if err != nil {
		return "", err
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	const most = 4 << 10
	body, err := io.ReadAll(io.LimitReader(res.Body, most))
	text := strings.TrimSpace(string(body))
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answered %d: %s", path, res.StatusCode, text)
	}
	return text, err
}
