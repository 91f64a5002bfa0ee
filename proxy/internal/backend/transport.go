// Package backend is the connection to a backend: how it is dialled, read in large pieces, and
// watched for silence. It knows nothing of runs and events.
package backend

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"

	"holdpoint/internal/without"
)

// secureBuffer is the buffer that net/http keeps for a connection with TLS. Nobody knows how much
// waits there.
const secureBuffer = 32 << 10

// Transports makes the two transports to an upstream. Answers go through single, over a connection
// of their own each: a backend may close a kept connection just as a request is written. Nobody can
// tell then whether it read the request, and the pause would be in doubt.
func Transports(upstream *url.URL) (ordinary, single *http.Transport) {
	dial := (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	buffer := secureBuffer
	if upstream.Scheme == "http" && !without.Bursts {
		buffer = plainBuffer
		plain := dial
		dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := plain(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return burst(conn), nil
		}
	}
	make := func() *http.Transport {
		return &http.Transport{
			// No Proxy: HTTP_PROXY of the environment must not carry runs elsewhere.
			DialContext:           dial,
			TLSHandshakeTimeout:   10 * time.Second,
			MaxIdleConns:          1024,
			MaxIdleConnsPerHost:   256,
			IdleConnTimeout:       90 * time.Second,
			ExpectContinueTimeout: time.Second,
			ReadBufferSize:        buffer,
			DisableCompression:    true, // a compressed stream would have to be decoded to be read
		}
	}
	ordinary, single = make(), make()
	single.DisableKeepAlives = true
	return ordinary, single
}
