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

// cache is the folder for programs that are not installed on the machine. Git ignores it.
const cache = ".cache/bench"

// build builds Holdpoint with the command that a user would run.
func build(ctx context.Context, to string, flags ...string) error {
	args := slices.Concat([]string{"build", "-trimpath", "-o", to}, flags, []string{"./cmd/holdpoint"})
	out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build ./cmd/holdpoint: %w\n%s", err, out)
	}
	return nil
}

// nginxConf is nginx's configuration as a careful user would write it: no buffering, persistent
// connections to the upstream, one worker.
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
	binary, libraries, err := findProgram(ctx, "nginx", "nginx")
	if err != nil {
		return nil, unavailableError{err}
	}
	dir, err := os.MkdirTemp(b.dir, "nginx-")
	if err != nil {
		return nil, err
	}
	// If this process runs as root, nginx's worker runs as another user, who must be able to read
	// the folders.
	if err := errors.Join(os.Chmod(b.dir, 0o755), os.Chmod(dir, 0o755)); err != nil {
		return nil, err
	}
	address, err := freeAddress() // nginx does not report its port
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConf, b.origin.address, address), 0o644); err != nil {
		return nil, err
	}
	return start(ctx, name, address, append(os.Environ(), libraries), nil, binary, "-p", dir, "-c", conf, "-e", "stderr")
}

// haproxyConf is HAProxy's configuration as a careful user would write it: no buffering of
// responses, persistent connections to the upstream, one thread.
const haproxyConf = `
global
	nbthread 1
	maxconn 9900
defaults
	mode http
	option http-no-delay
	http-reuse always
	timeout connect 5s
	timeout client 1h
	timeout server 1h
listen origin
	bind %[2]s backlog 4096
	server origin %[1]s
`

func startHAProxy(b *bench, ctx context.Context, name string) (*process, error) {
	binary, libraries, err := findProgram(ctx, "haproxy", "haproxy", "liblua5.3-0", "libopentracing-c-wrapper0", "libopentracing1")
	if err != nil {
		return nil, unavailableError{err}
	}
	dir, err := os.MkdirTemp(b.dir, "haproxy-")
	if err != nil {
		return nil, err
	}
	address, err := freeAddress() // HAProxy does not report its port
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "haproxy.cfg")
	if err := os.WriteFile(conf, fmt.Appendf(nil, haproxyConf, b.origin.address, address), 0o600); err != nil {
		return nil, err
	}
	return start(ctx, name, address, append(os.Environ(), libraries), nil, binary, "-db", "-f", conf)
}

// freeAddress returns a loopback address on which no process listens. Another process may begin to
// use the address before the caller does.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// findProgram returns the path of a server that is installed. Otherwise it unpacks the server from
// Debian's packages, which would start the server if they were installed. libraries is the
// environment variable that an unpacked server needs to find its libraries. A package that Debian
// does not have is left out, because different versions of a server need different packages.
func findProgram(ctx context.Context, name string, packages ...string) (program, libraries string, err error) {
	for _, path := range []string{name, "/usr/sbin/" + name} {
		if found, err := exec.LookPath(path); err == nil {
			found, err = filepath.Abs(found)
			return found, "LANG=C", err
		}
	}
	dir, err := filepath.Abs(cache)
	if err != nil {
		return "", "", err
	}
	program = filepath.Join(dir, name, "usr", "sbin", name)
	triplets, err := filepath.Glob("/usr/lib/*-linux-gnu")
	if err != nil {
		return "", "", err
	}
	libraries = "LD_LIBRARY_PATH="
	for _, t := range triplets {
		libraries += filepath.Join(dir, name, t) + ":"
	}
	if _, err := os.Stat(program); err != nil {
		if err := unpack(ctx, dir, name, packages); err != nil {
			return "", "", err
		}
	}
	cmd := exec.CommandContext(ctx, program, "-v")
	cmd.Env = append(os.Environ(), libraries)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("%s -v: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return program, libraries, nil
}

// unpack extracts Debian's packages into dir/name. The first package is required.
func unpack(ctx context.Context, dir, name string, packages []string) error {
	to := filepath.Join(dir, name)
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for i, p := range packages {
		if i > 0 && exec.CommandContext(ctx, "apt-cache", "show", p).Run() != nil {
			continue
		}
		if err := retryCommand(ctx, to, "apt-get", "download", p); err != nil {
			return err
		}
		files, err := filepath.Glob(filepath.Join(to, p+"_*.deb"))
		if err != nil || len(files) == 0 {
			return fmt.Errorf("apt-get download %s left no package (%w)", p, err)
		}
		if err := retryCommand(ctx, to, "dpkg", "-x", files[len(files)-1], "."); err != nil {
			return err
		}
	}
	return nil
}

// nodeDir is the folder of the proxy that is built from AG-UI's own packages, with its lock file.
const nodeDir = "bench/node"

func startNode(b *bench, ctx context.Context, name string) (*process, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, unavailableError{err}
	}
	if err := installNode(ctx); err != nil {
		return nil, unavailableError{err}
	}
	return start(ctx, name, "", append(os.Environ(), "NODE_ENV=production"), listeningAddress, node, filepath.Join(nodeDir, "server.mjs"), "http://"+b.origin.address)
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
	if err := retryCommand(ctx, nodeDir, "npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"); err != nil {
		return err
	}
	return os.WriteFile(marker, lock, 0o644)
}

// An unavailableError is the error for a target that is not possible on this machine. The tables
// are made without this target, and the report says so.
type unavailableError struct{ error }

// retryCommand runs a command that uses the network. It tries up to three times.
func retryCommand(ctx context.Context, dir, name string, args ...string) error {
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
