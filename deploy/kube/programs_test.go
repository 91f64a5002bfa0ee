//go:build kube && linux

package kube

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// programs puts what the node needs into its folders: links to the programs of Kubernetes, the
// programs that are built from the folders below this one, helm, and the images.
func programs(ctx context.Context, n *node) error {
	if err := os.WriteFile(filepath.Join(n.dir, fmt.Sprintf("owner-%d", os.Getpid())), nil, 0o600); err != nil {
		return err
	}
	if err := fetchDefinitions(ctx, n); err != nil {
		return err
	}
	path, err := hyperkube(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet", "kubectl"} {
		if err := os.Symlink(path, filepath.Join(n.bin, name)); err != nil {
			return err
		}
	}
	helm := os.Getenv("HELM")
	if helm == "" {
		return errors.New("HELM is not set: start the tests by make kube")
	}
	if err := os.Symlink(helm, filepath.Join(n.bin, "helm")); err != nil {
		return err
	}
	for name, from := range map[string]string{"agent": "./agent", "dns": "./dns", "pause": "./pause", "holdpoint": "../../cmd/holdpoint"} {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(n.bin, name), from)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go build %s: %w\n%s", from, err, out)
		}
	}
	released, err := released()
	if err != nil {
		return err
	}
	next := released[:strings.LastIndexByte(released, ':')] + ":2" // a test upgrades to this image
	state := &tar.Header{Typeflag: tar.TypeDir, Name: "var/lib/holdpoint/", Mode: 0o755, Uid: 65532, Gid: 65532}
	for _, i := range []struct {
		file    string
		names   []string
		program string
		user    string
		folders []*tar.Header
	}{
		{"pause.tar", []string{"localhost/pause:1"}, "pause", "", nil},
		{"images/agent.tar", []string{"registry.example.com/agent:1"}, "agent", "65532:65532", nil},
		{"images/holdpoint.tar", []string{"registry.example.com/holdpoint:1", "registry.example.com/holdpoint:2", released, next}, "holdpoint", "65532:65532", []*tar.Header{state}},
	} {
		if err := image(filepath.Join(n.dir, i.file), i.names, filepath.Join(n.bin, i.program), i.user, i.folders, nil); err != nil {
			return err
		}
	}
	return nil
}

// released returns the name of Holdpoint's image as the manifests have it, with its tag.
func released() (string, error) {
	b, err := os.ReadFile("../kubernetes/sidecar.yaml")
	if err != nil {
		return "", err
	}
	found := regexp.MustCompile(`image: (\S+/holdpoint:\S+)`).FindSubmatch(b)
	if found == nil {
		return "", errors.New("sidecar.yaml names no image of Holdpoint")
	}
	return string(found[1]), nil
}

// image writes a container image in the format of docker save. It has one program and some folders.
// If folders contains a regular file, its content is copied from the same path on this machine.
func image(path string, names []string, program, user string, folders []*tar.Header, environ []string) error {
	binary, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	command := "/" + filepath.Base(program)
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for _, f := range folders {
		var content []byte
		if f.Typeflag == tar.TypeReg {
			if content, err = os.ReadFile("/" + f.Name); err != nil {
				return err
			}
			f.Size = int64(len(content))
		}
		err = errors.Join(err, w.WriteHeader(f))
		if _, e := w.Write(content); e != nil {
			err = errors.Join(err, e)
		}
	}
	err = errors.Join(err, w.WriteHeader(&tar.Header{Name: command[1:], Mode: 0o755, Size: int64(len(binary))}))
	if _, e := w.Write(binary); e != nil {
		err = errors.Join(err, e)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	digest := sha256.Sum256(layer.Bytes())
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "created": "2026-01-01T00:00:00Z",
		"config": map[string]any{"User": user, "Entrypoint": []string{command}, "Env": append([]string{"PATH=/"}, environ...), "WorkingDir": "/"},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", digest)}},
	})
	if err != nil {
		return err
	}
	configName, layerName := fmt.Sprintf("%x.json", sha256.Sum256(config)), fmt.Sprintf("%x/layer.tar", digest)
	manifest, err := json.Marshal([]map[string]any{{"Config": configName, "RepoTags": names, "Layers": []string{layerName}}})
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w = tar.NewWriter(f)
	for _, file := range []struct {
		name string
		text []byte
	}{{configName, config}, {"manifest.json", manifest}, {layerName, layer.Bytes()}} {
		if err := w.WriteHeader(&tar.Header{Name: file.name, Mode: 0o644, Size: int64(len(file.text))}); err != nil {
			return err
		}
		if _, err := w.Write(file.text); err != nil {
			return err
		}
	}
	return w.Close()
}
