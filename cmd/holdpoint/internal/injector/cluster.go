package injector

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// accountFolder has the files with which Kubernetes gives a pod access to the API server.
const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount"

const (
	// callTimeout bounds a request to the API server.
	callTimeout = 10 * time.Second
	// maxObject is the largest response of the API server that is read, in bytes.
	maxObject = 4 << 20
	// oldestMinor is the oldest supported minor version of Kubernetes 1. From this version on,
	// Kubernetes finds a port of a native sidecar by the port's name
	// (kubernetes/kubernetes#127958).
	oldestMinor = 33
)

// errChanged is the error of a write if the Kubernetes object has changed since it was read.
var errChanged = errors.New(textChanged)

// A cluster calls the API server of Kubernetes as the pod's service account.
type cluster struct {
	base      string // such as https://10.96.0.1:443
	folder    string
	namespace string
	http      *http.Client
}

// inCluster returns the cluster of the pod in which the process runs. The function get returns the
// value of an environment variable. folder is accountFolder, except in tests.
func inCluster(get func(string) string, folder string) (*cluster, error) {
	host, port := get("KUBERNETES_SERVICE_HOST"), get("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, errors.New(textNotPod)
	}
	namespace, err := os.ReadFile(filepath.Join(folder, "namespace"))
	if err != nil {
		return nil, fmt.Errorf(textNoAccountToken, err)
	}
	ca, err := os.ReadFile(filepath.Join(folder, "ca.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New(textWrongAuthority)
	}
	return &cluster{
		base: "https://" + net.JoinHostPort(host, port), folder: folder, namespace: strings.TrimSpace(string(namespace)),
		http: &http.Client{Timeout: callTimeout, Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute,
		}},
	}, nil
}

// call sends a request to the API server and returns the JSON of the response. It reads the
// account's token for each request, because Kubernetes replaces the token within the hour.
func (c *cluster) call(ctx context.Context, method, path, contentType string, body []byte) (gjson.Result, error) {
	var none gjson.Result
	token, err := os.ReadFile(filepath.Join(c.folder, "token"))
	if err != nil {
		return none, err
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return none, err
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	req.Header.Set("Accept", "application/json")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return none, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxObject+1))
	if err != nil {
		return none, err
	}
	if len(text) > maxObject || !agui.ValidJSON(text) {
		return none, fmt.Errorf(textWrongAnswer, method, path, maxObject, res.StatusCode)
	}
	object := gjson.ParseBytes(text)
	switch {
	case res.StatusCode == http.StatusConflict || res.StatusCode == http.StatusUnprocessableEntity && method == http.MethodPatch:
		return none, errChanged
	case res.StatusCode >= 300:
		return none, fmt.Errorf("%s %s: status %d, %s", method, path, res.StatusCode, object.Get("message").String())
	}
	return object, nil
}

func (c *cluster) secretPath(name string) string {
	return "/api/v1/namespaces/" + c.namespace + "/secrets/" + name
}

func configurationPath(name string) string {
	return "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/" + name
}

// checkVersion returns a tooOldError if this version of Kubernetes could not reach an injected pod.
func (c *cluster) checkVersion(ctx context.Context) error {
	version, err := c.call(ctx, http.MethodGet, "/version", "", nil)
	if err != nil {
		return err
	}
	minor, err := strconv.Atoi(strings.TrimRight(version.Get("minor").String(), "+"))
	if err == nil && version.Get("major").String() == "1" && minor < oldestMinor {
		return tooOldError(version.Get("gitVersion").String())
	}
	return nil
}

// A tooOldError is the error for a version of Kubernetes that is too old. Its text is that version.
type tooOldError string

// Error names the version, what does not work with it, and the oldest version that works.
func (e tooOldError) Error() string {
	return fmt.Sprintf(textTooOld, string(e), oldestMinor)
}
