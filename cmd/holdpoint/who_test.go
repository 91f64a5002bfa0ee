package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/translate/dialects"
)

const (
	secretKey = "PRINCIPAL_KEY=hushhushhushhushhushhushhushhush"
	byHeader  = "PRINCIPAL_HEADER=X-User"
	byPeers   = "TRUSTED_PEERS=10.0.0.0/8"
	byToken   = "JWT_ISSUER=https://id.example;JWT_AUDIENCE=chat;JWT_JWKS_URL=https://id.example/keys"
)

// whoConfig loads the settings from these variables, which are given as NAME=VALUE without
// HOLDPOINT_.
func whoConfig(variables ...string) (*settings, error) {
	environ := []string{upstream}
	for _, v := range variables {
		if v == byToken {
			for one := range strings.SplitSeq(v, ";") {
				environ = append(environ, prefix+one)
			}
			continue
		}
		environ = append(environ, prefix+v)
	}
	return load(environ, dialects.All())
}

func TestWhoIsConfigured(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(strings.Repeat("a", 32)+"\n"+strings.Repeat("b", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		set  []string
		want string // part of the error, "" for none
	}{
		{"nothing", nil, ""},
		{"a header", []string{byHeader, byPeers, secretKey}, ""},
		{"a header and a tenant", []string{byHeader, byPeers, "TENANT_HEADER=X-Tenant", secretKey}, ""},
		{"a tenant alone", []string{byPeers, "TENANT_HEADER=X-Tenant"}, ""},
		{"a token", []string{byToken, secretKey}, ""},
		{"a token and a tenant", []string{byToken, byPeers, "TENANT_HEADER=X-Tenant", secretKey, "THREAD_NAMESPACE=principal", "JWT_CLAIM=email"}, ""},
		{"keys in a file", []string{byToken, "PRINCIPAL_KEY_FILE=" + file}, ""},
		{"a name", []string{"NAME=mail agent"}, ""},

		{"no peers", []string{byHeader, secretKey}, "HOLDPOINT_TRUSTED_PEERS is not set, and no header is believed without it"},
		{"peers for nothing", []string{byPeers}, `HOLDPOINT_TRUSTED_PEERS "10.0.0.0/8": no header of these peers is read`},
		{"peers that are none", []string{byHeader, "TRUSTED_PEERS=proxy", secretKey}, `HOLDPOINT_TRUSTED_PEERS "proxy": "proxy" is not a network`},
		{"no keys", []string{byHeader, byPeers}, "HOLDPOINT_PRINCIPAL_KEY is not set, and threads of principals need it"},
		{"no keys for tokens", []string{byToken}, "HOLDPOINT_PRINCIPAL_KEY is not set"},
		{"a short key", []string{byHeader, byPeers, "PRINCIPAL_KEY=hush"}, `HOLDPOINT_PRINCIPAL_KEY "(set)": key 1 has 4 characters, want at least 32`},
		{"keys for nothing", []string{secretKey}, `HOLDPOINT_PRINCIPAL_KEY "(set)": there is no principal`},
		{"keys twice", []string{byHeader, byPeers, secretKey, "PRINCIPAL_KEY_FILE=" + file}, `keys": the variable of the same name without _FILE is set too: leave out one of the two`},
		{"no such file", []string{byHeader, byPeers, "PRINCIPAL_KEY_FILE=" + file + "x"}, `keysx": open `},
		{"both", []string{byHeader, byPeers, byToken, secretKey}, `HOLDPOINT_PRINCIPAL_HEADER "X-User": HOLDPOINT_JWT_ISSUER is set too`},
		{"half a token", []string{"JWT_ISSUER=https://id.example", secretKey}, "HOLDPOINT_JWT_AUDIENCE, HOLDPOINT_JWT_JWKS_URL: not set, and HOLDPOINT_JWT_AUDIENCE, HOLDPOINT_JWT_ISSUER, HOLDPOINT_JWT_JWKS_URL must be set together"},
		{"keys at no address", []string{"JWT_JWKS_URL=id.example/keys"}, `HOLDPOINT_JWT_JWKS_URL "id.example/keys": not an address`},
		{"a password at the keys", []string{"JWT_JWKS_URL=https://me:hush@id.example/keys"}, `HOLDPOINT_JWT_JWKS_URL "https://xxxxx@id.example/keys": user and password do not belong here`},
		{"a namespace of nobody", []string{"THREAD_NAMESPACE=principal"}, `HOLDPOINT_THREAD_NAMESPACE "principal": there is no principal`},
		{"a namespace that is none", []string{"THREAD_NAMESPACE=tenant"}, `HOLDPOINT_THREAD_NAMESPACE "tenant": want one of none, principal`},
		{"one header for two", []string{byHeader, byPeers, "TENANT_HEADER=x-user", secretKey}, `HOLDPOINT_TENANT_HEADER "x-user": it is HOLDPOINT_PRINCIPAL_HEADER too`},
		{"a secret for a name", []string{"PRINCIPAL_HEADER=authorization", byPeers, secretKey}, `HOLDPOINT_PRINCIPAL_HEADER "authorization": it contains a secret that changes`},
		{"a header of one connection", []string{"TENANT_HEADER=Connection", byPeers}, `HOLDPOINT_TENANT_HEADER "Connection": it cannot name the user`},
		{"an address for a name", []string{"PRINCIPAL_HEADER=X-Forwarded-For", byPeers, secretKey}, `its sender can write anything there`},
		{"no header", []string{"PRINCIPAL_HEADER=X User", byPeers, secretKey}, `HOLDPOINT_PRINCIPAL_HEADER "X User": not the name of a header`},
		{"a name with a line in it", []string{"NAME=a\nb"}, `HOLDPOINT_NAME "a\nb": want at most 100 bytes`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := whoConfig(tt.set...)
			switch {
			case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Fatalf("%v, want %q", err, tt.want)
			case err != nil && strings.Contains(err.Error(), "hush"):
				t.Errorf("the error holds a secret: %v", err)
			}
			for _, s := range c.settings() {
				if strings.Contains(s.value, "hush") {
					t.Errorf("%s is shown as %q", s.name, s.value)
				}
			}
		})
	}
}

// TestWhoMayAnswerIsSaidAtStart: at start, the log must have one line that says who may answer
// questions, and a warning for each dangerous setting.
func TestWhoMayAnswerIsSaidAtStart(t *testing.T) {
	for _, tt := range []struct {
		name  string
		set   []string
		store string
		want  []string // how each line must begin
	}{
		{"for everybody", nil, "", []string{"WARN Holdpoint knows no users, and listens for everybody: the thread id is the key"}},
		{"for everybody by IPv6", []string{"LISTEN=[::]:7080"}, "", []string{"WARN Holdpoint knows no users, and listens for everybody"}},
		{"on loopback", []string{"LISTEN=127.0.0.1:7080"}, "", []string{"WARN Holdpoint knows no users: whoever knows a thread id"}},
		{"a header", []string{byHeader, byPeers, secretKey}, "bolt:///state.db", []string{"INFO each thread belongs to the principal of its first run"}},
		{"a header, in memory", []string{byHeader, byPeers, secretKey}, "", []string{"INFO each thread", "WARN a restart forgets whose thread is whose"}},
		{"threads of one's own, in memory", []string{byHeader, byPeers, secretKey, "THREAD_NAMESPACE=principal"}, "", []string{"INFO each thread"}},
		{"everybody may say who asks", []string{byHeader, "TRUSTED_PEERS=0.0.0.0/0", secretKey}, "bolt:///state.db", []string{"INFO each thread", "WARN every address may name the user in a header"}},
		{"the pod may say who asks", []string{byHeader, "TRUSTED_PEERS=127.0.0.1", secretKey}, "bolt:///state.db", []string{"INFO each thread", "WARN programs of this machine may name the user in a header"}},
		{"tokens", []string{byToken, secretKey}, "bolt:///state.db", []string{"INFO each thread"}},
		{"keys on the way", []string{"JWT_ISSUER=i", "JWT_AUDIENCE=a", "JWT_JWKS_URL=http://id.example/keys", secretKey}, "bolt:///state.db", []string{"INFO each thread", "WARN the issuer's keys come over plain HTTP"}},
		{"keys of this machine", []string{"JWT_ISSUER=i", "JWT_AUDIENCE=a", "JWT_JWKS_URL=http://127.0.0.1/keys", secretKey}, "bolt:///state.db", []string{"INFO each thread"}},
		{"no name at a shared store", []string{"LISTEN=127.0.0.1:0"}, "rediss://cache:6379/0", []string{"WARN Holdpoint knows no users", "WARN HOLDPOINT_NAME is not set"}},
		{"no name at another", []string{"LISTEN=127.0.0.1:0"}, "postgres:///db", []string{"WARN Holdpoint knows no users", "WARN HOLDPOINT_NAME is not set"}},
		{"a name", []string{"LISTEN=127.0.0.1:0", "NAME=mail"}, "redis://cache", []string{"WARN Holdpoint knows no users"}},
		{"a file is not shared", []string{"LISTEN=127.0.0.1:0"}, "bolt:///state.db", []string{"WARN Holdpoint knows no users"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := whoConfig(tt.set...)
			if err != nil {
				t.Fatal(err)
			}
			if tt.store != "" {
				if err := c.store.Address.UnmarshalText([]byte(tt.store)); err != nil {
					t.Fatal(err)
				}
			}
			var b bytes.Buffer
			logIdentification(c, slog.New(slog.NewTextHandler(&b, nil)))
			lines := strings.Split(strings.TrimSpace(b.String()), "\n")
			if len(lines) != len(tt.want) {
				t.Fatalf("%d lines, want %d:\n%s", len(lines), len(tt.want), b.String())
			}
			for n, line := range lines {
				level, text, _ := strings.Cut(tt.want[n], " ")
				if !strings.Contains(line, "level="+level) || !strings.Contains(line, "msg=\""+text) || strings.Contains(line, "hush") {
					t.Errorf("%s\nwant %s", line, tt.want[n])
				}
			}
		})
	}
}
