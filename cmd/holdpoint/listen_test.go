package main

import (
	"strings"
	"testing"

	"holdpoint/translate/dialects"
)

func TestListenConfiguration(t *testing.T) {
	for environ, want := range map[string]string{
		"LISTEN=unix:///run/a.sock ADMIN_LISTEN=unix:///run/b.sock?mode=0660": "",
		"ADMIN_LISTEN=off":                        "",
		"ADMIN_LISTEN=off LISTEN=:7081":           "",
		"ADMIN_LISTEN=:7081 PPROF=true":           "",
		"LISTEN=:7081":                            `HOLDPOINT_ADMIN_LISTEN "127.0.0.1:7081": HOLDPOINT_LISTEN has the same address (:7081): give the probes one of their own`,
		"LISTEN=unix:///a ADMIN_LISTEN=unix:///a": `HOLDPOINT_ADMIN_LISTEN "unix:///a": HOLDPOINT_LISTEN has the same address (unix:///a)`,
		"LISTEN=unix://run/a.sock":                `HOLDPOINT_LISTEN "unix://run/a.sock": want the socket's whole path behind three slashes`,
		"ADMIN_LISTEN=7081":                       `HOLDPOINT_ADMIN_LISTEN "7081": want host:port, such as :7081, or off`,
		"UPSTREAM=http://localhost:7081":          `HOLDPOINT_UPSTREAM "http://localhost:7081": this is where Holdpoint's probes are (HOLDPOINT_ADMIN_LISTEN 127.0.0.1:7081): set another address there, or off`,
		"ADMIN_LISTEN=off PPROF=true":             `HOLDPOINT_PPROF "true": profiles are on the admin listener, and HOLDPOINT_ADMIN_LISTEN is off`,
		"LISTEN=unix:///run/a.sock TENANT_HEADER=X-Tenant TRUSTED_PEERS=127.0.0.1": `a client of the unix socket of HOLDPOINT_LISTEN has no address`,
	} {
		list := []string{upstream}
		for variable := range strings.FieldsSeq(environ) {
			list = append(list, prefix+variable)
		}
		switch _, err := load(list, dialects.All()); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", environ, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: %v, want %s", environ, err, want)
		}
	}
}
