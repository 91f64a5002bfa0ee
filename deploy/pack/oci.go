package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// These are the repositories of the image and of the chart. The OCI layouts can also be pushed to
// other repositories, because digests do not depend on the repository's name.
const (
	imageRepository = "ghcr.io/holdpoint/holdpoint"
	chartRepository = "ghcr.io/holdpoint/charts/holdpoint"
)

// A descriptor refers to a blob. The OCI image specification defines its members.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    map[string]string `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type layer struct {
	mediaType   string
	body        []byte
	annotations map[string]string
}

// A layout collects the blobs of an OCI image layout, which is written as a tar archive.
type layout struct {
	time  time.Time
	blobs map[string][]byte
	index []descriptor
}

func newLayout(t time.Time) *layout { return &layout{time: t, blobs: map[string][]byte{}} }

func (l *layout) add(mediaType string, body []byte) descriptor {
	sum := hexSum(body)
	l.blobs[sum] = body
	return descriptor{MediaType: mediaType, Digest: "sha256:" + sum, Size: len(body)}
}

func (l *layout) addLayer(one layer) descriptor {
	d := l.add(one.mediaType, one.body)
	d.Annotations = one.annotations
	return d
}

const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	indexType    = "application/vnd.oci.image.index.v1+json"
)

func (l *layout) manifest(config descriptor, layers ...descriptor) descriptor {
	return l.annotated(nil, config, layers...)
}

func (l *layout) annotated(annotations map[string]string, config descriptor, layers ...descriptor) descriptor {
	return l.add(manifestType, encode(struct {
		SchemaVersion int               `json:"schemaVersion"`
		MediaType     string            `json:"mediaType"`
		Config        descriptor        `json:"config"`
		Layers        []descriptor      `json:"layers"`
		Annotations   map[string]string `json:"annotations,omitempty"`
	}{2, manifestType, config, layers, annotations}))
}

func (l *layout) tag(d descriptor, name string) {
	d.Annotations = map[string]string{"org.opencontainers.image.ref.name": name}
	l.index = append(l.index, d)
}

// indexOf returns the JSON of an OCI image index that lists these manifests.
func indexOf(list []descriptor, annotations map[string]string) []byte {
	return encode(struct {
		SchemaVersion int               `json:"schemaVersion"`
		MediaType     string            `json:"mediaType"`
		Manifests     []descriptor      `json:"manifests"`
		Annotations   map[string]string `json:"annotations,omitempty"`
	}{2, indexType, list, annotations})
}

func (l *layout) write(r *release, name string) error {
	files := []file{
		{"oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{"index.json", 0o644, indexOf(l.index, nil)},
		{"blobs/", 0o755, nil}, {"blobs/sha256/", 0o755, nil},
	}
	for sum, body := range l.blobs {
		files = append(files, file{"blobs/sha256/" + sum, 0o644, body})
	}
	slices.SortFunc(files[4:], func(a, b file) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	body, err := archive(files, l.time)
	if err != nil {
		return err
	}
	return r.write(name, body)
}

// A file is a file of an archive, or a folder if its name ends with a slash.
type file struct {
	name string
	mode int64
	body []byte
}

// archive returns the files as a tar archive. All belong to root except the store's folder, and
// have the time t.
func archive(files []file, t time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.body)), ModTime: t, Format: tar.FormatUSTAR}
		if f.name[len(f.name)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if f.name == stateFolder {
			h.Uid, h.Gid = user, user
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.body); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func zipped(body []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b) // without a name and a time
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}

const (
	user        = 65532
	stateFolder = "var/lib/holdpoint/"
)

// imageLayout writes the image for both processor architectures and the index of the two. They
// contain what the Dockerfile's image contains. In place of the Dockerfile's base image there is a
// layer with the user and the certificates of the trusted authorities.
func (r *release) imageLayout(binaries []binary, license []byte) error {
	base, err := archive([]file{
		{"etc/", 0o755, nil},
		{"etc/group", 0o644, []byte("root:x:0:\nnonroot:x:65532:\n")},
		{"etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")},
		{"etc/ssl/", 0o755, nil},
		{"etc/ssl/certs/", 0o755, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, r.roots},
		{"tmp/", 0o1777, nil},
	}, r.time)
	if err != nil {
		return err
	}
	about := map[string]string{
		"org.opencontainers.image.title": "holdpoint", "org.opencontainers.image.version": "v" + r.version,
		"org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.source": source, "org.opencontainers.image.revision": r.commit,
	}
	l := newLayout(r.time)
	var images []descriptor
	for _, b := range binaries {
		if b.os != "linux" {
			continue
		}
		program, err := archive([]file{
			{"LICENSE", 0o644, license}, {"holdpoint", 0o755, b.body},
			{"var/", 0o755, nil}, {"var/lib/", 0o755, nil}, {stateFolder, 0o755, nil},
		}, r.time)
		if err != nil {
			return err
		}
		var layers []descriptor
		var sums []string
		for _, body := range [][]byte{base, program} {
			small, err := zipped(body)
			if err != nil {
				return err
			}
			layers = append(layers, l.add("application/vnd.oci.image.layer.v1.tar+gzip", small))
			sums = append(sums, "sha256:"+hexSum(body))
		}
		created := r.time.Format(time.RFC3339)
		config := l.add("application/vnd.oci.image.config.v1+json", encode(map[string]any{
			"created": created, "architecture": b.arch, "os": b.os,
			"config": map[string]any{
				"User": fmt.Sprintf("%d:%d", user, user), "Entrypoint": []string{"/holdpoint"}, "WorkingDir": "/", "Labels": about,
				"Env":          []string{"PATH=/", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
				"ExposedPorts": map[string]any{"7080/tcp": map[string]any{}, "7081/tcp": map[string]any{}},
				"Healthcheck":  map[string]any{"Test": []string{"CMD", "/holdpoint", "healthcheck", "ready"}, "Interval": 5 * time.Second},
			},
			"rootfs":  map[string]any{"type": "layers", "diff_ids": sums},
			"history": []map[string]string{{"created": created, "created_by": "deploy/pack: authorities and the user"}, {"created": created, "created_by": "deploy/pack: holdpoint"}},
		}))
		one := l.annotated(about, config, layers...)
		one.Platform = map[string]string{"architecture": b.arch, "os": b.os}
		images = append(images, one)
	}
	if len(images) != 2 {
		return fmt.Errorf("want binaries of linux/amd64 and linux/arm64 for the image, there are %d of linux", len(images))
	}
	index := l.add(indexType, indexOf(images, about))
	l.tag(index, r.version)
	name := "holdpoint_" + r.version + "_image"
	r.images = append(r.images, image{imageRepository, index.Digest, name})
	return l.write(r, name+".tar")
}

// chartLayout writes the chart that helm has packaged as an OCI layout, with the manifest that
// `helm push` would make.
func (r *release) chartLayout() error {
	chart, err := os.ReadFile(filepath.Join(r.dir, "holdpoint-"+r.version+".tgz"))
	if err != nil {
		return err
	}
	about := map[string]string{
		"name": "holdpoint", "version": r.version, "appVersion": r.version, "apiVersion": "v2", "type": "application", "kubeVersion": ">=1.29.0-0",
		"description": "A reverse proxy that turns the pauses of AI agents into AG-UI interrupts",
	}
	text, err := json.Marshal(about)
	if err != nil {
		return err
	}
	l := newLayout(r.time)
	config := l.add("application/vnd.cncf.helm.config.v1+json", text)
	manifest := l.annotated(map[string]string{
		"org.opencontainers.image.title": about["name"], "org.opencontainers.image.version": r.version,
		"org.opencontainers.image.description": about["description"], "org.opencontainers.image.source": source,
		"org.opencontainers.image.created": r.time.Format(time.RFC3339),
	}, config, l.add("application/vnd.cncf.helm.chart.content.v1.tar+gzip", chart))
	l.tag(manifest, r.version)
	name := "holdpoint_" + r.version + "_chart"
	r.images = append(r.images, image{chartRepository, manifest.Digest, name})
	return l.write(r, name+".tar")
}
