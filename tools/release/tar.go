package main

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// makeTar makes an archive of a directory pcp-VERSION-linux-ARCH that has the files below /usr/local.
func makeTar(_ context.Context, r *release, in input) error {
	top := "pcp-" + r.version + "-linux-" + in.arch
	return r.write(top+".tar.gz", "any Linux system", func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, r.level)
		if err != nil {
			return err
		}
		t := tar.NewWriter(z)
		if err := t.WriteHeader(r.header(entry{path: "/", mode: fs.ModeDir | 0o755}, top)); err != nil {
			return err
		}
		for _, e := range in.local {
			name, ok := strings.CutPrefix(e.path, "/usr/local/")
			if !ok {
				continue
			}
			if err := r.appendTar(t, e, path.Join(top, name)); err != nil {
				return err
			}
		}
		return errors.Join(t.Close(), z.Close())
	})
}

// header returns the header of an entry with a name. Its owner is root and its time that of the commit.
func (r *release) header(e entry, name string) *tar.Header {
	h := &tar.Header{Name: name, Mode: int64(e.mode.Perm()), ModTime: r.source.time, Format: tar.FormatPAX, Uname: "root", Gname: "root"}
	switch {
	case e.mode.IsDir():
		h.Typeflag = tar.TypeDir
		h.Name += "/"
	case e.link != "":
		h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, e.link, 0o777
	default:
		h.Typeflag = tar.TypeReg
	}
	return h
}

func (r *release) appendTar(t *tar.Writer, e entry, name string) error {
	h := r.header(e, name)
	if h.Typeflag != tar.TypeReg {
		return t.WriteHeader(h)
	}
	b, err := os.ReadFile(e.source)
	if err != nil {
		return err
	}
	h.Size = int64(len(b))
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err = t.Write(b)
	return err
}

// write makes a file of the release. It appears under its name only when it is complete.
func (r *release) write(name, what string, content func(w io.Writer) error) error {
	f, err := os.CreateTemp(r.out, ".release")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	err = content(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	info, err := os.Stat(f.Name())
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), r.path(name)); err != nil {
		return err
	}
	r.products = append(r.products, product{name: name, what: what, size: info.Size(), seconds: time.Since(r.started).Seconds()})
	r.started = time.Now()
	return nil
}
