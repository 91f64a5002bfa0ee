package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// cache is where what is not installed on the machine is put; git ignores it.
const cache = ".cache/bench"

// build makes Holdpoint as a user would.
func build(ctx context.Context, to string, flags ...string) error {
	args := slices.Concat([]string{"build", "-trimpath", "-o", to}, flags, []string{"./cmd/holdpoint"})
	out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build ./cmd/holdpoint: %w\n%s", err, out)
	}
	return nil
}

// nginxConf is a careful user's: no buffering, connections to the upstream kept, one worker.
const nginxConf = `
worker_processes 1;
worker_rlimit_nofile 40000;
pid nginx.pid;
daemon off;
events { worker_connections 40000; }
http {
	access_log off;
	client_body_temp_path body;
	proxy_temp_path proxy;
	fastcgi_temp_path fastcgi;
	uwsgi_temp_path uwsgi;
	scgi_temp_path scgi;
	upstream origin { server %s; keepalive 64; }
	server {
		listen %s backlog=4096;
		location / {
			proxy_pass http://origin;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_buffering off;
			proxy_read_timeout 1h;
		}
	}
}
`

func startNginx(b *bench, ctx context.Context, name string) (*process, error) {
	binary, err := findNginx(ctx)
	if err != nil {
		return nil, unavailable{err}
	}
	dir, err := os.MkdirTemp(b.dir, "nginx-")
	if err != nil {
		return nil, err
	}
	// The worker is another user where this one is root.
	if err := errors.Join(os.Chmod(b.dir, 0o755), os.Chmod(dir, 0o755)); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // nginx cannot tell which port it took
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	l.Close()
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConf, b.origin.address, address), 0o644); err != nil {
		return nil, err
	}
	return start(ctx, name, address, os.Environ(), nil, binary, "-p", dir, "-c", conf, "-e", "stderr")
}

// findNginx is nginx, of the machine or unpacked from Debian's package: installed, that would start
// a server of its own.
func findNginx(ctx context.Context) (string, error) {
	unpacked := filepath.Join(cache, "nginx", "usr", "sbin", "nginx")
	for _, path := range []string{"nginx", "/usr/sbin/nginx", unpacked} {
		if found, err := exec.LookPath(path); err == nil {
			return filepath.Abs(found)
		}
	}
	dir, err := filepath.Abs(cache)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := insist(ctx, dir, "apt-get", "download", "nginx"); err != nil {
		return "", err
	}
	packages, err := filepath.Glob(filepath.Join(dir, "nginx_*.deb"))
	if err != nil || len(packages) == 0 {
		return "", fmt.Errorf("apt-get download nginx left no package (%w)", err)
	}
	if err := insist(ctx, dir, "dpkg", "-x", packages[len(packages)-1], "nginx"); err != nil {
		return "", err
	}
	found, err := filepath.Abs(unpacked)
	if err != nil {
		return "", err
	}
	if out, err := exec.CommandContext(ctx, found, "-v").CombinedOutput(); err != nil {
		return "", fmt.Errorf("nginx -v: %w: %s", err, bytes.TrimSpace(out))
	}
	return found, nil
}

// nodeDir holds the proxy of AG-UI's own packages, with its lock file.
const nodeDir = "bench/node"

func startNode(b *bench, ctx context.Context, name string) (*process, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, unavailable{err}
	}
	if err := installNode(ctx); err != nil {
		return nil, unavailable{err}
	}
	return start(ctx, name, "", append(os.Environ(), "NODE_ENV=production"), afterListening, node, filepath.Join(nodeDir, "server.mjs"), "http://"+b.origin.address)
}

func installNode(ctx context.Context) error {
	lock, err := os.ReadFile(filepath.Join(nodeDir, "package-lock.json"))
	if err != nil {
		return err
	}
	marker := filepath.Join(nodeDir, "node_modules", ".complete")
	if done, err := os.ReadFile(marker); err == nil && bytes.Equal(done, lock) {
		return nil
	}
	if err := insist(ctx, nodeDir, "npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"); err != nil {
		return err
	}
	return os.WriteFile(marker, lock, 0o644)
}

// unavailable says that a target cannot be had on this machine. The table is then made without it,
// and says so.
type unavailable struct{ error }

// insist runs a command that uses the network up to three times.
func insist(ctx context.Context, dir, name string, args ...string) error {
	var err error
	for attempt := range 3 {
		time.Sleep(time.Duration(attempt) * 2 * time.Second)
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = dir
		var out []byte
		if out, err = cmd.CombinedOutput(); err == nil {
			return nil
		}
		err = fmt.Errorf("%s: %w: %s", filepath.Base(name), err, bytes.TrimSpace(out))
	}
	return err
}
