package front

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"holdpoint/internal/edge/certificates"
	"holdpoint/internal/edge/listen"
	"holdpoint/internal/variables"
)

// Settings are the variables of a listener that serves clients.
type Settings struct {
	Listen         listen.Variable `env:"LISTEN" envDefault:":7080" short:"address to listen on" doc:"address to listen on, host:port or unix:///path/of.sock (docs/operations.md#unix-sockets). Port 0 is any free port; the log names it"`
	CertFile       string          `env:"TLS_CERT_FILE" short:"file with the certificate of the listener, for TLS" doc:"file with the listener's certificate and its intermediate certificates (PEM). The listener then accepts only TLS, also with HTTP/2. It is read again when it changes (docs/limits.md#tls)"`
	KeyFile        string          `env:"TLS_KEY_FILE" short:"file with its private key" doc:"file with the private key (PEM) of that certificate"`
	ClientCAFile   string          `env:"TLS_CLIENT_CA_FILE" doc:"file with authorities (PEM). Every client then needs a certificate of one of them"`
	H2C            bool            `env:"H2C" envDefault:"false" doc:"true: also accept HTTP/2 without TLS, from clients that begin with it"`
	MaxHeaderBytes variables.Size  `env:"MAX_HEADER_BYTES" envDefault:"64KiB" doc:"maximum size of the headers of a request. A larger request gets 431"`
	HeaderTimeout  time.Duration   `env:"HEADER_TIMEOUT" envDefault:"10s" doc:"maximum time for the headers of a request, and for a TLS handshake. A slower request gets 408"`
	KeepAlive      time.Duration   `env:"KEEP_ALIVE" envDefault:"2m" doc:"how long an idle connection of a client stays open for its next request. A load balancer in front must have a shorter time"`
	Connections    int             `env:"MAX_CONNECTIONS" envDefault:"20000" doc:"maximum number of clients' connections. Further ones get 503"`
	PerAddress     int             `env:"ADDRESS_CONNECTIONS" doc:"maximum number of connections from one client address (for IPv6, from one network of 64 bits). Further ones get 429. It does not apply to HOLDPOINT_TRUSTED_PEERS"`

	tls *certificates.Set // set by Check; nil if no file is named
}

// Check returns what is wrong with the settings. It also loads the TLS files.
func (s *Settings) Check() (errs []error) {
	if err := s.Listen.Check(); err != nil {
		errs = append(errs, variables.ErrorAt("LISTEN", err))
	}
	for _, of := range []struct {
		name string
		time time.Duration
	}{{"HEADER_TIMEOUT", s.HeaderTimeout}, {"KEEP_ALIVE", s.KeepAlive}} {
		if of.time < time.Second {
			errs = append(errs, variables.ErrorAtf(of.name, textAtLeastSecond))
		}
	}
	if s.MaxHeaderBytes < 4<<10 || s.MaxHeaderBytes > 16<<20 {
		errs = append(errs, variables.ErrorAtf("MAX_HEADER_BYTES", "want 4KiB to 16MiB"))
	}
	if s.ClientCAFile != "" && s.CertFile == "" && s.KeyFile == "" {
		return append(errs, variables.ErrorAtf("TLS_CLIENT_CA_FILE", textClientCA))
	}
	var err error
	s.tls, err = certificates.OpenNamed(certificates.Files{Cert: s.CertFile, Key: s.KeyFile, CA: s.ClientCAFile}, "HOLDPOINT_", "TLS_CERT_FILE", "TLS_KEY_FILE", "TLS_CLIENT_CA_FILE")
	return append(errs, variables.SplitErrors(err)...)
}

// TLS returns the certificates of the listener, or nil if it does not use TLS.
func (s *Settings) TLS() *certificates.Set { return s.tls }

const (
	// streamsPerConnection is how many requests one HTTP/2 connection may run at the same time. The
	// value is net/http's default. It bounds the cost of one connection.
	streamsPerConnection = 250
	// After pingDelay without a frame from the client, an HTTP/2 connection sends a ping. If the
	// client does not reply within pingTimeout, the connection is closed.
	pingDelay, pingTimeout = 30 * time.Second, 15 * time.Second
)

// Configure configures server with the limits of the settings, and returns a Listener for server.
// The Listener uses TLS if the settings have a certificate. If exempt reports true for an address,
// only the bound on the total number of connections applies to that address.
func (s *Settings) Configure(server *http.Server, l net.Listener, exempt func(netip.Addr) bool, logger *slog.Logger) net.Listener {
	server.ReadHeaderTimeout, server.IdleTimeout, server.MaxHeaderBytes = s.HeaderTimeout, s.KeepAlive, int(s.MaxHeaderBytes)
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(s.tls != nil)
	server.Protocols.SetUnencryptedHTTP2(s.H2C)
	server.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: streamsPerConnection, SendPingTimeout: pingDelay, PingTimeout: pingTimeout}
	Attach(server)
	var secure *tls.Config
	if s.tls != nil {
		secure = s.tls.Server("h2", "http/1.1")
	}
	return Listen(l, Options{
		TLS: secure, HeaderTimeout: s.HeaderTimeout, Connections: s.Connections, PerAddress: s.PerAddress, IsExempt: exempt,
		OnFull: rateLimited(func(status int) {
			name := "MAX_CONNECTIONS"
			if status == http.StatusTooManyRequests {
				name = "ADDRESS_CONNECTIONS"
			}
			logger.Warn(logTooMany, "variable", "HOLDPOINT_"+name, "status", status)
		}),
		OnHandshakeFailure: func(remote net.Addr, err error) {
			logger.Debug("no TLS connection", "peer", remote.String(), "err", err)
		},
	})
}

// rateLimited returns a function that calls do with its argument. For each value of the argument it
// calls do at most once a minute.
func rateLimited(do func(int)) func(int) {
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
