//go:build kube && linux

package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// definitions lists files of other projects, with the Go modules that contain them. The files have
// custom resource definitions for the kinds of these projects that manifests in deploy use. Only
// tests use the files.
var definitions = []struct{ module, file string }{
	{"sigs.k8s.io/gateway-api@v1.6.3", "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"},
	{"github.com/prometheus-operator/prometheus-operator@v0.85.0", "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"},
	{"github.com/prometheus-operator/prometheus-operator@v0.85.0", "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml"},
	{"github.com/kedacore/keda/v2@v2.20.2", "config/crd/bases/keda.sh_scaledobjects.yaml"},
}

// fetchDefinitions copies the files in definitions into the folder crds of the node.
func fetchDefinitions(ctx context.Context, n *node) error {
	folder := filepath.Join(n.dir, "crds")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	for _, d := range definitions {
		var module struct{ Dir, Error string }
		for range 3 { // registries fail now and then
			cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", d.module)
			cmd.Dir = n.dir        // outside of our module, which requires no such module
			out, _ := cmd.Output() // the output contains the error
			if err := json.Unmarshal(out, &module); err == nil && module.Error == "" {
				break
			}
		}
		b, err := os.ReadFile(filepath.Join(module.Dir, d.file))
		if err != nil {
			return fmt.Errorf("%s: %w %s", d.module, err, module.Error)
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(d.file)), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}
