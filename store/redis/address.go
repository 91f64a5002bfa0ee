package redis

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Schemes are the schemes of the addresses that Parse accepts.
var Schemes = []string{"redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster"}

// An Address has the addresses of the Redis servers, and how to log in to them. It may contain
// passwords.
type Address struct {
	servers           []string
	sentinel, cluster bool
	primary           string // the name that the sentinels have for the primary
	user, password    string
	sentinelUser      string
	sentinelPassword  string
	database          int
	prefix            string
	tls               *tls.Config
}

// DefaultPrefix is the default for the beginning of all keys.
const DefaultPrefix = "holdpoint:"

// Parse reads an address:
//
//   - redis://user:password@host:6379/0 for one server,
//   - redis+sentinel://host:26379/0?addr=host2:26379&primary=name for sentinels,
//   - redis+cluster://host:6379?addr=host2:6379 for a cluster.
//
// If the scheme begins with rediss instead of redis, connections are encrypted. The parameters are:
//
//   - addr: another sentinel, or another node of the cluster; it may occur several times;
//   - primary: the name that the sentinels have for the primary;
//   - prefix: the beginning of all keys; the default is DefaultPrefix;
//   - sentinel_user, sentinel_password: how to log in to the sentinels;
//   - sentinel_password_file: a file with the password for the sentinels;
//   - ca_file: a file with certificates in PEM form that may sign the server's certificate; the
//     default is the certificates of the machine.
//
// Parse reads these files. Its errors contain no password.
func Parse(u *url.URL) (Address, error) {
	scheme, kind, _ := strings.Cut(u.Scheme, "+")
	if !slices.Contains(Schemes, u.Scheme) {
		return Address{}, fmt.Errorf(textOneOf, strings.Join(Schemes, ", "))
	}
	a := Address{sentinel: kind == "sentinel", cluster: kind == "cluster", prefix: DefaultPrefix}
	if u.User != nil {
		a.user = u.User.Username()
		a.password, _ = u.User.Password()
	}
	port := "6379"
	if a.sentinel {
		port = "26379"
	}
	if u.Host == "" || u.Opaque != "" || u.Fragment != "" {
		return Address{}, errors.New(textHost)
	}
	a.servers = []string{withPort(u.Host, port)}
	if path := strings.Trim(u.Path, "/"); path != "" {
		n, err := strconv.Atoi(path)
		if err != nil || n < 0 || a.cluster {
			return Address{}, fmt.Errorf(textDatabase, path)
		}
		a.database = n
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Address{}, errors.New(textParameters)
	}
	var ca string
	for name, values := range query {
		if len(values) > 1 && name != "addr" {
			return Address{}, fmt.Errorf(textParameterTwice, name)
		}
		value := values[0]
		switch name {
		case "addr":
			for _, host := range values {
				a.servers = append(a.servers, withPort(host, port))
			}
		case "primary":
			a.primary = value
		case "prefix":
			a.prefix = value
		case "sentinel_user":
			a.sentinelUser = value
		case "sentinel_password":
			a.sentinelPassword = value
		case "sentinel_password_file":
			if query.Has("sentinel_password") {
				return Address{}, errors.New(textSentinelPasswords)
			}
			a.sentinelPassword, err = readPassword(value)
		case "ca_file":
			ca = value
		default:
			return Address{}, fmt.Errorf(textNoParameter, name)
		}
		if err != nil {
			return Address{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	switch {
	case a.sentinel != (a.primary != ""):
		return Address{}, errors.New(textPrimary)
	case !a.sentinel && (a.sentinelUser != "" || a.sentinelPassword != ""):
		return Address{}, errors.New(textSentinelOnly)
	case !a.sentinel && !a.cluster && len(a.servers) > 1:
		return Address{}, errors.New(textSeveralOnly)
	case strings.ContainsAny(a.prefix, "{}"):
		return Address{}, errors.New(textPrefixBraces)
	case scheme == "redis" && ca != "":
		return Address{}, errors.New(textTLSOnly)
	}
	if scheme == "rediss" {
		a.tls = &tls.Config{MinVersion: tls.VersionTLS12}
		if ca != "" {
			pem, err := os.ReadFile(ca)
			if err != nil {
				return Address{}, fmt.Errorf("ca_file: %w", err)
			}
			a.tls.RootCAs = x509.NewCertPool()
			if !a.tls.RootCAs.AppendCertsFromPEM(pem) {
				return Address{}, fmt.Errorf(textNoCertificate, ca)
			}
		}
	}
	return a, nil
}

func withPort(host, port string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), port)
}

func readPassword(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if text := strings.TrimSpace(string(b)); text != "" {
		return text, nil
	}
	return "", errors.New(textEmptyFile)
}
