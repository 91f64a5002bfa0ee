package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// These are the names of the packages. At PyPI, the name holdpoint belongs to another project.
const (
	pythonName = "holdpoint-proxy"
	npmName    = "holdpoint"
	npmScope   = "@holdpoint/"
)

// A platform has the names that the installers of Python and npm use for a system and its
// processor.
type platform struct{ wheel, npmOS, npmCPU string }

// platforms has the platform of each binary, by GOOS/GOARCH. Binaries of Go need no C library, and
// run on Linux 3.2, macOS 12, Windows 10 and later.
var platforms = map[string]platform{
	"linux/amd64":   {"manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64", "linux", "x64"},
	"linux/arm64":   {"manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64", "linux", "arm64"},
	"darwin/amd64":  {"macosx_12_0_x86_64", "darwin", "x64"},
	"darwin/arm64":  {"macosx_12_0_arm64", "darwin", "arm64"},
	"windows/amd64": {"win_amd64", "win32", "x64"},
	"windows/arm64": {"win_arm64", "win32", "arm64"},
}

const about = `Holdpoint is a reverse proxy for AI agents. It turns the pauses of an agent backend into AG-UI
interrupts, and hands the client's answers to the backend in the backend's own form.

This package carries the binary. It downloads nothing, and nothing runs at its installation.

    holdpoint demo    # a question and its answer, in this terminal

The documentation is at ` + source + `.
`

func (b *binary) name() string {
	if b.os == "windows" {
		return "holdpoint.exe"
	}
	return "holdpoint"
}

// wheels writes a Python wheel for each platform. The binary is a script of the wheel, so
// installers put it into the folder for commands.
func (r *release) wheels(binaries []binary, license []byte) error {
	for _, b := range binaries {
		tag := platforms[b.os+"/"+b.arch].wheel
		if tag == "" {
			return fmt.Errorf("no wheel is known for %s/%s", b.os, b.arch)
		}
		base := strings.ReplaceAll(pythonName, "-", "_") + "-" + r.version
		info := base + ".dist-info/"
		wheel := "Wheel-Version: 1.0\nGenerator: deploy/pack\nRoot-Is-Purelib: false\n"
		for one := range strings.SplitSeq(tag, ".") {
			wheel += "Tag: py3-none-" + one + "\n"
		}
		files := []file{
			{base + ".data/scripts/" + b.name(), 0o755, b.body},
			{info + "METADATA", 0o644, []byte("Metadata-Version: 2.4\nName: " + pythonName + "\nVersion: " + r.version +
				"\nSummary: A reverse proxy that turns the pauses of AI agents into AG-UI interrupts\nLicense-Expression: Apache-2.0\nLicense-File: LICENSE\n" +
				"Project-URL: Source, " + source + "\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n" + about)},
			{info + "WHEEL", 0o644, []byte(wheel)},
			{info + "licenses/LICENSE", 0o644, license},
		}
		record := ""
		for _, f := range files {
			sum := sha256.Sum256(f.body)
			record += fmt.Sprintf("%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.body))
		}
		files = append(files, file{info + "RECORD", 0o644, []byte(record + info + "RECORD,,\n")})
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for _, f := range files {
			h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: r.time}
			h.CreatorVersion, h.ExternalAttrs = 3<<8, uint32(0o100000|f.mode)<<16 // marked as made on Unix, so that installers use the mode
			part, err := w.CreateHeader(h)
			if err != nil {
				return err
			}
			if _, err := part.Write(f.body); err != nil {
				return err
			}
		}
		if err := w.Close(); err != nil {
			return err
		}
		if err := r.write(base+"-py3-none-"+tag+".whl", out.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// launcher is the script that the npm package installs as the command holdpoint. It finds the
// package for the system it runs on, and starts the binary in that package.
const launcher = `#!/usr/bin/env node
"use strict";
const { spawn } = require("node:child_process");

const name = "` + npmScope + `" + process.platform + "-" + process.arch;
let binary;
try {
  binary = require.resolve(name + "/bin/holdpoint" + (process.platform === "win32" ? ".exe" : ""));
} catch {
  console.error("holdpoint: the package " + name + " is not installed. Install without --omit=optional; there is one for Linux, macOS and Windows, x64 and arm64.");
  process.exit(1);
}
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends its signals to both processes. A signal to this process alone is passed on.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => { if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal); });
}
child.on("error", (err) => { console.error("holdpoint: " + err.message); process.exit(1); });
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
`

// npmPackages writes the npm package that users install, and for each platform a package with the
// binary. npm installs only the one whose os and cpu match. No package has an install script.
func (r *release) npmPackages(binaries []binary, license []byte) error {
	needs := map[string]string{}
	common := func(name, description string) map[string]any {
		return map[string]any{
			"name": name, "version": r.version, "description": description, "license": "Apache-2.0",
			"repository": map[string]string{"type": "git", "url": "git+" + source + ".git"},
		}
	}
	for _, p := range platforms {
		needs[npmScope+p.npmOS+"-"+p.npmCPU] = r.version
	}
	for _, b := range binaries {
		p := platforms[b.os+"/"+b.arch]
		name := p.npmOS + "-" + p.npmCPU
		manifest := common(npmScope+name, "The binary of holdpoint for "+name)
		manifest["os"], manifest["cpu"] = []string{p.npmOS}, []string{p.npmCPU}
		manifest["preferUnplugged"] = true
		if err := r.npm("-"+name, manifest, file{"package/bin/" + b.name(), 0o755, b.body}, file{"package/LICENSE", 0o644, license}); err != nil {
			return err
		}
	}
	manifest := common(npmName, "A reverse proxy that turns the pauses of AI agents into AG-UI interrupts")
	manifest["bin"] = map[string]string{"holdpoint": "bin/holdpoint.js"}
	manifest["engines"] = map[string]string{"node": ">=18"}
	manifest["optionalDependencies"] = needs
	return r.npm("", manifest, file{"package/bin/holdpoint.js", 0o755, []byte(launcher)}, file{"package/README.md", 0o644, []byte("# holdpoint\n\n" + about)}, file{"package/LICENSE", 0o644, license})
}

func (r *release) npm(suffix string, manifest map[string]any, files ...file) error {
	body, err := archive(slices.Concat([]file{{"package/package.json", 0o644, append(encode(manifest), '\n')}}, files), r.time)
	if err != nil {
		return err
	}
	small, err := zipped(body)
	if err != nil {
		return err
	}
	return r.write("holdpoint-npm"+suffix+"-"+r.version+".tgz", small)
}
