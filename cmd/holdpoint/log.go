package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
)

// logSettings has the variables of the log.
type logSettings struct {
	Level  string `env:"LOG_LEVEL" envDefault:"info" values:"debug|info|warn|error" short:"lowest level of the lines in the log: debug, info, warn or error" doc:"lowest level of the lines of the log, which goes to standard error"`
	Format string `env:"LOG_FORMAT" envDefault:"auto" values:"auto|json|text" doc:"format of the log. auto is text on a terminal, else json"`
}

// New returns a logger that writes to w.
func (l *logSettings) New(w *os.File) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.Level)); err != nil {
		level = slog.LevelInfo // not reached: the tag values admits level names only
	}
	options := &slog.HandlerOptions{Level: level}
	_, onTerminal := terminalWidth(w)
	if l.Format == "text" || l.Format == "auto" && onTerminal {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// logStart logs which agents and which store start, all settings at level DEBUG, and warnings about
// settings whose effect a user may not expect.
func logStart(s *settings, logger *slog.Logger) {
	var attrs []any
	for _, one := range s.settings() {
		attrs = append(attrs, slog.String(strings.ToLower(strings.TrimPrefix(one.name, prefix)), one.value))
	}
	if s.ignored != nil {
		attrs = append(attrs, slog.Any("ignored", s.ignored))
	}
	start := []any{"version", readBuild().Version}
	if s.agent.isSet() {
		start = append(start, "upstream", s.agent.Upstream.String(), "dialect", s.agent.Dialect)
	}
	logger.Info("holdpoint", append(start, "store", s.store.Address.Scheme())...)
	for _, r := range s.routes {
		logger.Info("route", "path", r.Path, "agent", r.Name, "upstream", r.Upstream.String(), "dialect", r.Dialect)
	}
	logger.Debug("configuration", attrs...)
	warnOrigins(s, logger)
	logIdentification(s, logger)
}

// warnOrigins logs a warning for each agent whose responses every web page may read.
func warnOrigins(s *settings, logger *slog.Logger) {
	warn := func(list origins, name string) {
		if list.allowsAll() {
			logger.Warn(logEveryOrigin, "variable", name)
		}
	}
	warn(s.agent.CORSOrigins, prefix+"CORS_ORIGINS")
	for _, r := range s.routes {
		if name := r.prefix + "CORS_ORIGINS"; r.ownVariables[name] {
			warn(r.CORSOrigins, name)
		}
	}
}

// logIdentification logs how users are identified. It warns about ways in which one user could pose
// as another.
func logIdentification(s *settings, logger *slog.Logger) {
	who := &s.identity
	var attrs []any
	if s.agent.Name != "" {
		attrs = append(attrs, "agent", s.agent.Name)
	}
	if who.TenantHeader != "" {
		attrs = append(attrs, "tenant", "header "+who.TenantHeader)
	}
	switch listen := s.front.Listen.String(); {
	case who.HasPrincipal():
		from := "header " + who.PrincipalHeader
		if who.PrincipalHeader == "" {
			from = fmt.Sprintf(textClaim, who.JWTClaim, who.JWTIssuer)
		}
		logger.Info("each thread belongs to the principal of its first run", append(attrs, "principal", from, "keys", who.Keys().String(), "thread_namespace", who.ThreadNamespace)...)
	case listensOnAll(listen):
		logger.Warn(logNoUsersPublic, append(attrs, "listen", listen)...)
	default:
		logger.Warn(logNoUsers, attrs...)
	}
	if who.TrustedPeers.HasEverybody() {
		logger.Warn(logEveryPeer, "variable", "HOLDPOINT_TRUSTED_PEERS")
	} else if who.TrustedPeers.HasLoopback() {
		logger.Warn(logLocalPeer, "variable", "HOLDPOINT_TRUSTED_PEERS")
	}
	if who.HasPrincipal() && !who.OwnThreads() && s.store.InMemory() {
		logger.Warn(logOwnersLost, "variable", "HOLDPOINT_STORE")
	}
	if who.JWKSURL.IsPlainHTTP() {
		logger.Warn(logPlainKeys, "variable", "HOLDPOINT_JWT_JWKS_URL")
	}
	if s.agent.Name == "" && s.agent.isSet() && s.store.IsRemote() {
		logger.Warn(logNoName)
	}
}

// listensOnAll reports whether a listener at this address listens at all addresses of the machine.
func listensOnAll(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	return err == nil && (host == "" || net.ParseIP(host).IsUnspecified())
}

// withListenHint returns args, with a hint added if err means that the address is in use.
func withListenHint(err error, args ...any) []any {
	if errors.Is(err, syscall.EADDRINUSE) {
		return append(args, "hint", textListensThere)
	}
	return args
}
