package injector

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// A Keeper makes the certificate of the webhook, renews it, and makes API servers trust it. All
// replicas serve the certificate in the Secret, and each of them may renew it.
//
// A renewal writes the new certificate to the Secret. Then it adds the new authority to the
// MutatingWebhookConfiguration, next to the old authorities. The Keeper checks both objects at
// intervals. A replica serves the new certificate only after a check has found the new authority in
// the MutatingWebhookConfiguration. So API servers trust the certificate that a replica serves,
// whichever replica has renewed it.
type Keeper struct {
	cluster  *cluster
	name     string // of the Service, the Secret and the MutatingWebhookConfiguration
	host     string // the host name in the certificate
	lifetime time.Duration
	now      func() time.Time
	logger   *slog.Logger

	served atomic.Pointer[servedBundle]
	// firstCertificate is the certificate that the listener serves until there is one that API servers
	// trust. It is enough for the kubelet's probes, which do not verify a certificate.
	firstCertificate *tls.Certificate
}

// servedBundle is the certificate that the listener serves, with the authorities in the Secret.
type servedBundle struct {
	certificate *tls.Certificate
	authorities []byte
}

// NewKeeper makes a Keeper for the pod in which the process runs.
func (s *Settings) NewKeeper(logger *slog.Logger) (*Keeper, error) {
	c, err := inCluster(os.Getenv, accountFolder)
	if err != nil {
		return nil, err
	}
	return newKeeper(c, s.Name, s.Lifetime, time.Now, logger)
}

func newKeeper(c *cluster, name string, lifetime time.Duration, now func() time.Time, logger *slog.Logger) (*Keeper, error) {
	k := &Keeper{cluster: c, name: name, host: name + "." + c.namespace + ".svc", lifetime: lifetime, now: now, logger: logger}
	b, err := issue(k.host, now(), lifetime)
	if err != nil {
		return nil, err
	}
	k.firstCertificate, err = b.read(k.host, now())
	return k, err
}

// CheckVersion returns an error if Kubernetes is too old. It returns nil if the API server does not
// respond.
func (k *Keeper) CheckVersion(ctx context.Context) error {
	err := k.cluster.checkVersion(ctx)
	if tooOld := tooOldError(""); errors.As(err, &tooOld) {
		return err
	}
	return nil
}

// Ready reports whether the listener serves a certificate that API servers trust.
func (k *Keeper) Ready() bool {
	s := k.served.Load()
	return s != nil && k.now().Before(s.certificate.Leaf.NotAfter)
}

// TLS returns the TLS configuration of the listener. Each connection gets the current certificate.
func (k *Keeper) TLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if s := k.served.Load(); s != nil {
			return s.certificate, nil
		}
		return k.firstCertificate, nil
	}}
}

// Run keeps the certificate valid until ctx is done. It calls step at least once a minute, and
// sooner after a failure.
func (k *Keeper) Run(ctx context.Context) {
	every := min(time.Minute, k.lifetime/20)
	lastError := ""
	for {
		// the random part keeps replicas that started together from renewing together
		wait := every + rand.N(every/4+1)
		switch err := k.step(ctx); {
		case err == nil:
			lastError = ""
		case ctx.Err() != nil:
			return
		default:
			wait = min(every, 2*time.Second)
			if lastError != err.Error() {
				k.logger.Error(logCertificate, "err", err)
			}
			lastError = err.Error()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// step reads the Secret and the MutatingWebhookConfiguration. It renews the certificate if needed,
// and adds a missing authority.
func (k *Keeper) step(ctx context.Context) error {
	var err error
	for range 3 { // if another replica was faster with a write, look again
		if err = k.look(ctx); !errors.Is(err, errChanged) {
			return err
		}
	}
	return err
}

func (k *Keeper) look(ctx context.Context) error {
	object, err := k.cluster.call(ctx, http.MethodGet, k.cluster.secretPath(k.name), "", nil)
	if err != nil {
		return fmt.Errorf("the Secret %s: %w", k.name, err)
	}
	now := k.now()
	b := bundleOf(object)
	pair, err := b.read(k.host, now)
	if err != nil || isRenewalDue(pair.Leaf, now) {
		if b, pair, err = k.renew(ctx, object, b); err != nil {
			return fmt.Errorf("the Secret %s: %w", k.name, err)
		}
	}
	trusted, err := k.trust(ctx, b)
	if err != nil {
		return fmt.Errorf("the MutatingWebhookConfiguration %s: %w", k.name, err)
	}
	shown := k.served.Load()
	if shown != nil && (!trusted || bytes.Equal(shown.certificate.Certificate[0], pair.Certificate[0])) {
		return nil
	}
	k.served.Store(&servedBundle{pair, b.authorities})
	k.logger.Info("certificate", "host", k.host, "expires", pair.Leaf.NotAfter)
	return nil
}

// renew makes a new certificate and writes it into the Secret.
func (k *Keeper) renew(ctx context.Context, object gjson.Result, old bundle) (bundle, *tls.Certificate, error) {
	now := k.now()
	b, err := issue(k.host, now, k.lifetime)
	if err != nil {
		return b, nil, err
	}
	b = b.withAuthorities(now, old.authorities)
	if s := k.served.Load(); s != nil {
		b = b.withAuthorities(now, s.authorities) // a Secret that was emptied may lack these authorities
	}
	text := []byte(object.Raw)
	for _, of := range []struct {
		path  string
		value []byte
	}{{`data.tls\.crt`, b.cert}, {`data.tls\.key`, b.key}, {`data.ca\.crt`, b.authorities}} {
		if text, err = sjson.SetBytes(text, of.path, base64.StdEncoding.EncodeToString(of.value)); err != nil {
			return b, nil, err
		}
	}
	// The object has a resourceVersion, so the write fails if another replica has changed the
	// Secret.
	if _, err = k.cluster.call(ctx, http.MethodPut, k.cluster.secretPath(k.name), "application/json", text); err != nil {
		return b, nil, err
	}
	k.logger.Info("a new certificate is in the Secret", "secret", k.name, "host", k.host)
	pair, err := b.read(k.host, now)
	return b, pair, err
}

// bundleOf returns the bundle in a Secret. A member that is not valid base64 counts as missing.
func bundleOf(secret gjson.Result) bundle {
	read := func(path string) []byte {
		text, err := base64.StdEncoding.DecodeString(secret.Get(path).String())
		if err != nil {
			return nil
		}
		return text
	}
	return bundle{read(`data.tls\.crt`), read(`data.tls\.key`), read(`data.ca\.crt`)}
}

// trust writes the authorities of b into the MutatingWebhookConfiguration if that has other
// authorities. The result trusted reports whether the first authority was there before the call:
// API servers may not have read an authority that was just added.
func (k *Keeper) trust(ctx context.Context, b bundle) (trusted bool, err error) {
	object, err := k.cluster.call(ctx, http.MethodGet, configurationPath(k.name), "", nil)
	if err != nil {
		return false, err
	}
	type operation map[string]any
	patch := []operation{{"op": "test", "path": "/metadata/resourceVersion", "value": object.Get("metadata.resourceVersion").String()}}
	first := block("CERTIFICATE", split(b.authorities)[0].Raw)
	found := false
	trusted = true
	for n, hook := range object.Get("webhooks").Array() {
		service := hook.Get("clientConfig.service")
		if service.Get("name").String() != k.name || service.Get("namespace").String() != k.cluster.namespace {
			continue
		}
		found = true
		has, _ := base64.StdEncoding.DecodeString(hook.Get("clientConfig.caBundle").String())
		trusted = trusted && bytes.Contains(has, first)
		if !bytes.Equal(has, b.authorities) {
			patch = append(patch, operation{"op": "add", "path": "/webhooks/" + strconv.Itoa(n) + "/clientConfig/caBundle", "value": base64.StdEncoding.EncodeToString(b.authorities)})
		}
	}
	switch {
	case !found:
		return false, fmt.Errorf(textNoWebhook, k.name, k.cluster.namespace)
	case len(patch) == 1:
		return trusted, nil
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return false, err
	}
	if _, err = k.cluster.call(ctx, http.MethodPatch, configurationPath(k.name), "application/json-patch+json", text); err != nil {
		return false, err
	}
	k.logger.Info("API servers are told of the certificate's authority", "configuration", k.name)
	return trusted, nil
}
