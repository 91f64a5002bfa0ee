package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"holdpoint/internal/edge/certificates"
	"holdpoint/internal/edge/front"
)

// checkEdge judges what is said of connections to both sides, and reads the files of TLS.
func (c *config) checkEdge() []error {
	var errs []error
	wrong := func(name, format string, args ...any) {
		errs = append(errs, c.group().Wrong(name, fmt.Errorf(format, args...)))
	}
	for name, d := range map[string]time.Duration{"WRITE_TIMEOUT": c.WriteTimeout, "HEADER_TIMEOUT": c.HeaderTimeout, "KEEP_ALIVE": c.KeepAlive} {
		if d < time.Second {
			wrong(name, "want at least 1s")
		}
	}
	if c.MaxHeaderBytes < 4<<10 || c.MaxHeaderBytes > 16<<20 {
		wrong("MAX_HEADER_BYTES", "want 4KiB to 16MiB")
	}
	if c.TLSClientCAFile != "" && c.TLSCertFile == "" && c.TLSKeyFile == "" {
		wrong("TLS_CLIENT_CA_FILE", "clients show certificates by TLS only, set HOLDPOINT_TLS_CERT_FILE and HOLDPOINT_TLS_KEY_FILE too")
		return errs
	}
	var err error
	c.serverTLS, err = openCertificates(certificates.Files{Cert: c.TLSCertFile, Key: c.TLSKeyFile, CA: c.TLSClientCAFile}, prefix, "TLS_CERT_FILE", "TLS_KEY_FILE", "TLS_CLIENT_CA_FILE")
	return append(errs, split(err)...)
}

// openCertificates reads files of TLS, which the variables with the prefix name. It is nil if they
// name none.
func openCertificates(files certificates.Files, prefix, cert, key, ca string) (*certificates.Set, error) {
	var named []string
	for name, file := range map[string]string{cert: files.Cert, key: files.Key, ca: files.CA} {
		if file != "" {
			named = append(named, prefix+name)
		}
	}
	if (files.Cert == "") != (files.Key == "") {
		return nil, fmt.Errorf("%s%s and %s%s: a certificate and its key are set together", prefix, cert, prefix, key)
	}
	if named == nil {
		return nil, nil
	}
	set, err := certificates.Open(files)
	if err != nil {
		slices.Sort(named)
		return nil, fmt.Errorf("%s: %w", strings.Join(named, ", "), err)
	}
	return set, nil
}

const (
	// streamsPerConnection is how many requests of one connection of HTTP/2 run at once. It is
	// net/http's default, and bounds what one connection may cost.
	streamsPerConnection = 250
	// pingAfter and pingTimeout end a connection of HTTP/2 whose client has gone without a word.
	pingAfter, pingTimeout = 30 * time.Second, 15 * time.Second
)

// behindFront has s serve l by the limits of c, and by TLS if c says so.
func (c *config) behindFront(s *http.Server, l net.Listener, logger *slog.Logger) net.Listener {
	s.ReadHeaderTimeout, s.IdleTimeout, s.MaxHeaderBytes = c.HeaderTimeout, c.KeepAlive, int(c.MaxHeaderBytes)
	s.Protocols = new(http.Protocols)
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(c.serverTLS != nil)
	s.Protocols.SetUnencryptedHTTP2(c.H2C)
	s.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: streamsPerConnection, SendPingTimeout: pingAfter, PingTimeout: pingTimeout}
	front.Attach(s)
	o := front.Options{
		HeaderTimeout: c.HeaderTimeout, Connections: c.MaxConnections, PerAddress: c.AddressConnections, Exempt: c.TrustedPeers.Has,
		Full: seldom(func(status int) {
			name := "MAX_CONNECTIONS"
			if status == http.StatusTooManyRequests {
				name = "ADDRESS_CONNECTIONS"
			}
			logger.Warn("connections are refused: there are too many, said once a minute", "variable", prefix+name, "status", status)
		}),
		Failed: func(remote net.Addr, err error) {
			logger.Debug("no TLS connection", "peer", remote.String(), "err", err)
		},
	}
	if c.serverTLS != nil {
		o.TLS = c.serverTLS.Server("h2", "http/1.1")
	}
	return front.Listen(l, o)
}

// seldom has do called for the same argument once a minute at most.
func seldom(do func(int)) func(int) {
	var mu sync.Mutex
	last := map[int]time.Time{}
	return func(n int) {
		mu.Lock()
		again := last[n].IsZero() || time.Since(last[n]) >= time.Minute
		if again {
			last[n] = time.Now()
		}
		mu.Unlock()
		if again {
			do(n)
		}
	}
}

// A certificateSet is files of TLS, by what names them, with what is to be done behind a change.
type certificateSet struct {
	what    string
	set     *certificates.Set
	changed func()
}

func (c *config) certificateSets(agents []served) []certificateSet {
	var sets []certificateSet
	if c.serverTLS != nil {
		sets = append(sets, certificateSet{prefix + "TLS_*_FILE", c.serverTLS, func() {}})
	}
	for _, a := range agents {
		if a.upstreamTLS != nil {
			// A kept connection would have the old certificate, or an authority that has gone.
			sets = append(sets, certificateSet{a.prefix + "UPSTREAM_*_FILE", a.upstreamTLS, a.handler.CloseIdleConnections})
		}
	}
	return sets
}

// reload is for HUP. What was wrong before is wrong again.
func (s certificateSet) reload() error {
	changed, err := s.set.Reload()
	if errors.Is(err, certificates.ErrSame) {
		return errors.New("the files are as they were refused before")
	}
	if changed {
		s.changed()
	}
	return err
}

// rereadEvery is how often files of TLS are looked at. A secret of Kubernetes takes up to a minute
// to arrive anyway.
const rereadEvery = 5 * time.Second

// watchCertificates reads files of TLS again when they change, until stop is closed.
func watchCertificates(sets []certificateSet, logger *slog.Logger, stop <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, s := range sets {
		go s.set.Watch(ctx, rereadEvery, func(err error) {
			if err != nil {
				logger.Error("not read again: what was read before stays in effect", "what", s.what, "err", err)
				return
			}
			s.changed()
			logger.Info("read again", "what", s.what, "expires", s.set.Expires())
		})
	}
	<-stop
}
