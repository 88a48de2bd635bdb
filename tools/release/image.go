package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// The image runs as this user and group, which no host is likely to have. Both own the state directory.
const (
	imageUser  = 65532
	imageState = "/var/lib/pcp"
)

// imageName is the name of the image without its version.
const imageName = "ghcr.io/go-pcp/pcp"

// makeImage makes the image of an architecture as a file for "docker load" and "podman load". Its layers are compressed by gzip: Docker
// before 23.0 does not load others.
func makeImage(ctx context.Context, r *release, in input) error {
	img, err := r.image(ctx, in, types.OCILayer)
	if err != nil {
		return err
	}
	tag, err := name.NewTag(imageName + ":" + r.version)
	if err != nil {
		return err
	}
	return r.write("pcp-"+r.version+"-image-linux-"+in.arch+".tar", "docker load, podman load", func(w io.Writer) error {
		return tarball.Write(tag, img, w)
	})
}

// image returns the image of an architecture: a layer with the certificates, the time zones and the state directory,
// and one with the program and its links, both of a media type.
func (r *release) image(ctx context.Context, in input, media types.MediaType) (v1.Image, error) {
	root, err := goEnv("GOROOT")
	if err != nil {
		return nil, err
	}
	zoneinfo, err := os.ReadFile(filepath.Join(root, "lib", "time", "zoneinfo.zip"))
	if err != nil {
		return nil, err
	}
	base, err := r.layer(ctx, media, func(t *tar.Writer) error {
		dir := func(name string, mode int64, user int) error {
			return t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode, Uid: user, Gid: user, ModTime: r.source.time, Format: tar.FormatPAX})
		}
		file := func(name string, b []byte) error {
			h := r.header(entry{mode: 0o644}, name)
			h.Uname, h.Gname, h.Size = "", "", int64(len(b))
			if err := t.WriteHeader(h); err != nil {
				return err
			}
			_, err := t.Write(b)
			return err
		}
		return errors.Join(
			dir("etc", 0o755, 0),
			file("etc/group", []byte("root:x:0:\npcp:x:65532:\n")),
			// Docker and Kubernetes mount their own; other runtimes do not.
			file("etc/hosts", []byte("127.0.0.1\tlocalhost\n::1\tlocalhost\n")),
			file("etc/passwd", []byte("root:x:0:0:root:/:/\npcp:x:65532:65532:Performance Co-Pilot:"+imageState+":/\n")),
			dir("etc/ssl", 0o755, 0), dir("etc/ssl/certs", 0o755, 0),
			file("etc/ssl/certs/ca-certificates.crt", certificates()),
			dir("tmp", 0o1777, 0),
			dir("usr", 0o755, 0), dir("usr/share", 0o755, 0),
			file("usr/share/zoneinfo.zip", zoneinfo),
			dir("var", 0o755, 0), dir("var/lib", 0o755, 0), dir("var/lib/pcp", 0o755, imageUser),
		)
	})
	if err != nil {
		return nil, err
	}
	program, err := r.layer(ctx, media, func(t *tar.Writer) error {
		for _, e := range in.usr {
			if path.Dir(e.path) != "/usr/bin" || e.isGPU() {
				continue
			}
			if err := r.appendTar(t, e, strings.TrimPrefix(e.path, "/")); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	img := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	img = mutate.ConfigMediaType(img, types.OCIConfigJSON)
	created := v1.Time{Time: r.source.time}
	img, err = mutate.Append(
		img,
		mutate.Addendum{Layer: base, History: v1.History{Created: created, CreatedBy: "tools/release: certificates, time zones, state directory"}},
		mutate.Addendum{Layer: program, History: v1.History{Created: created, CreatedBy: "tools/release: program and links"}},
	)
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(img, r.imageConfig(img, in.arch, created))
}

func (r *release) imageConfig(img v1.Image, arch string, created v1.Time) *v1.ConfigFile {
	c, err := img.ConfigFile()
	if err != nil {
		panic(err) // it is in memory
	}
	c = c.DeepCopy()
	c.Architecture, c.OS, c.Created = arch, "linux", created
	c.Config = v1.Config{
		Entrypoint: []string{"/usr/bin/pcp", "up"},
		User:       "65532:65532",
		WorkingDir: imageState,
		Env:        []string{"PATH=/usr/bin", "HOME=" + imageState, "XDG_STATE_HOME=" + path.Dir(imageState), "ZONEINFO=/usr/share/zoneinfo.zip"},
		Volumes:    map[string]struct{}{imageState: {}},
		// The collector, and the page for the browser.
		ExposedPorts: map[string]struct{}{"44321/tcp": {}, "44323/tcp": {}},
		Healthcheck: &v1.HealthConfig{
			Test:     []string{"CMD", "/usr/bin/pcp", "doctor", "--quiet"},
			Interval: time.Minute, Timeout: 30 * time.Second, StartPeriod: 20 * time.Second, Retries: 3,
		},
		StopSignal: "SIGTERM",
		Labels: map[string]string{
			"org.opencontainers.image.title":         "pcp",
			"org.opencontainers.image.description":   "Performance Co-Pilot in Go: collector, recorder and tools",
			"org.opencontainers.image.version":       r.version,
			"org.opencontainers.image.revision":      r.source.commit,
			"org.opencontainers.image.created":       r.source.time.Format(time.RFC3339),
			"org.opencontainers.image.source":        "https://github.com/go-pcp/pcp",
			"org.opencontainers.image.documentation": "https://github.com/go-pcp/pcp/blob/main/docs/install.md",
			"org.opencontainers.image.licenses":      "Apache-2.0",
		},
	}
	return c
}

// layer returns a compressed layer of a media type with the entries that a function writes.
func (r *release) layer(ctx context.Context, media types.MediaType, write func(t *tar.Writer) error) (v1.Layer, error) {
	var content bytes.Buffer
	t := tar.NewWriter(&content)
	if err := errors.Join(write(t), t.Close()); err != nil {
		return nil, err
	}
	if media == types.OCILayerZStd {
		packed, err := r.zstd(ctx, &content)
		if err != nil {
			return nil, err
		}
		content = *bytes.NewBuffer(packed)
	}
	return tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil },
		tarball.WithMediaType(media), tarball.WithCompressionLevel(r.level), tarball.WithCompressedCaching,
	)
}

// zstd compresses bytes by the program zstd: the image is 11 % smaller than by Go's. One thread makes the same bytes each time.
func (r *release) zstd(ctx context.Context, content io.Reader) ([]byte, error) {
	level := "-19"
	if r.level == gzip.BestSpeed {
		level = "-12"
	}
	cmd := exec.CommandContext(ctx, "zstd", level, "--single-thread", "--quiet", "--stdout")
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = content, &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("zstd, which compresses the layers of the image: %w%s", err, errs.Bytes())
	}
	return out.Bytes(), nil
}

// certificates returns the authorities that Mozilla trusts, without those that it trusts only under conditions.
func certificates() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return b.Bytes()
}

// makeLayout makes the image of all architectures as an OCI layout in a tar file. Its layers are compressed by zstd.
func makeLayout(ctx context.Context, r *release, ins []input) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, in := range ins {
		img, err := r.image(ctx, in, types.OCILayerZStd)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{
			Platform:    &v1.Platform{OS: "linux", Architecture: in.arch},
			Annotations: map[string]string{"org.opencontainers.image.ref.name": r.version},
		}})
	}
	dir := filepath.Join(r.work, "layout")
	if _, err := layout.Write(dir, index); err != nil {
		return err
	}
	files, err := walk(dir)
	if err != nil {
		return err
	}
	return r.write("pcp-"+r.version+"-image-oci.tar", "OCI layout: skopeo, Kubernetes", func(w io.Writer) error {
		t := tar.NewWriter(w)
		for _, e := range files {
			e.mode = e.mode&fs.ModeDir | 0o644
			if e.mode.IsDir() {
				e.mode |= 0o111
			}
			if err := r.appendTar(t, e, strings.TrimPrefix(e.path, "/")); err != nil {
				return err
			}
		}
		return t.Close()
	})
}
