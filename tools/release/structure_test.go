package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// A member is an entry of an archive with its contents.
type member struct {
	tar.Header
	data []byte
}

// members returns the entries of an archive. Those of apk have no end, except the last.
func members(t *testing.T, r io.Reader) []member {
	t.Helper()
	var list []member
	for files := tar.NewReader(r); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, member{*h, b})
	}
}

// fields returns the lines "key = value" of a .PKGINFO.
func fields(b []byte) map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(string(b)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), " = "); ok && !strings.HasPrefix(key, "#") {
			m[key] = append(m[key], value)
		}
	}
	return m
}

// checkFields compares fields of a .PKGINFO.
func checkFields(t *testing.T, got map[string][]string, want map[string]string) {
	t.Helper()
	for key, value := range want {
		if text := strings.Join(got[key], ","); text != value {
			t.Errorf("%s is %q, want %q", key, text, value)
		}
	}
}

// TestAPK reads the package for Alpine as apk does: two streams of gzip, the first with the description and the scripts, which has the sum of the
// second, and that with the files and the sum of each.
func TestAPK(t *testing.T) {
	atRoot(t)
	r, in := small(t)
	if err := makePackages("apk")(t.Context(), r, in); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(r.path("pcp-go_1.2.3-r4_aarch64.apk"))
	if err != nil {
		t.Fatal(err)
	}
	rest := bytes.NewReader(b)
	z, err := gzip.NewReader(rest) // bytes.Reader is an io.ByteReader, so that it reads no more than a stream
	if err != nil {
		t.Fatal(err)
	}
	z.Multistream(false)
	control := members(t, z)
	var info map[string][]string
	script := false
	for _, m := range control {
		switch m.Name {
		case ".PKGINFO":
			info = fields(m.data)
		case ".post-install":
			script = m.Mode&0o111 != 0 && bytes.HasPrefix(m.data, []byte("#!/bin/sh\n"))
		default:
			t.Errorf("the description has %s", m.Name)
		}
	}
	if !script {
		t.Error("there is no script .post-install that can run")
	}
	data := b[len(b)-rest.Len():]
	sum := sha256.Sum256(data)
	checkFields(t, info, map[string]string{"pkgname": "pcp-go", "pkgver": "1.2.3-r4", "arch": "aarch64", "license": "Apache-2.0", "datahash": hex.EncodeToString(sum[:]), "provides": "pcp-go-tools", "replaces": "pcp-go-tools"})
	if z, err = gzip.NewReader(bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	n, size := 0, 0
	for _, m := range members(t, z) {
		if strings.HasPrefix(m.Name, "/") || m.Uid != 0 || m.Gid != 0 {
			t.Errorf("%s: owner %d:%d", m.Name, m.Uid, m.Gid)
		}
		if n++; m.Typeflag != tar.TypeReg { // nfpm writes the sum of nothing for links
			continue
		}
		size += len(m.data)
		sum := sha1.Sum(m.data)
		if got := m.PAXRecords["APK-TOOLS.checksum.SHA1"]; got != hex.EncodeToString(sum[:]) {
			t.Errorf("%s has the sum %q, want %x", m.Name, got, sum)
		}
	}
	if n < 50 {
		t.Errorf("there are %d files", n)
	}
	if got, err := strconv.Atoi(strings.Join(info["size"], "")); err != nil || got < size {
		t.Errorf("size is %q, want at least %d", info["size"], size)
	}
}

// TestArch reads the package for Arch as pacman does: the description, the scripts, and a list of the files with the sum of each.
func TestArch(t *testing.T) {
	atRoot(t)
	r, in := small(t)
	if err := makePackages("archlinux")(t.Context(), r, in); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(r.path("pcp-go-1.2.3-4-aarch64.pkg.tar.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	files := map[string]member{}
	for _, m := range members(t, d) {
		files[strings.TrimSuffix(m.Name, "/")] = m
	}
	info := fields(files[".PKGINFO"].data)
	checkFields(t, info, map[string]string{
		"pkgname": "pcp-go", "pkgver": "1.2.3-4", "arch": "aarch64", "license": "Apache-2.0", "provides": "pcp,pcp-go-tools", "conflict": "pcp,pcp-go-tools",
		"backup": "etc/pcp/pmcd/pmcd.conf,etc/pcp/pmcd/pmcd.options,etc/pcp/pmlogger/control,etc/pcp/pmproxy/pmproxy.conf,etc/pcp/pmproxy/pmproxy.options",
	})
	for _, name := range []string{"post_install", "pre_remove"} {
		if !bytes.Contains(files[".INSTALL"].data, []byte("function "+name+"() {")) {
			t.Errorf(".INSTALL has no %s", name)
		}
	}
	z, err := gzip.NewReader(bytes.NewReader(files[".MTREE"].data))
	if err != nil {
		t.Fatal(err)
	}
	listed := 0
	for sc := bufio.NewScanner(z); sc.Scan(); {
		name, text, _ := strings.Cut(sc.Text(), " ")
		if name = strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/"); strings.HasPrefix(name, "#") || strings.HasPrefix(name, "/set") {
			continue
		}
		m, ok := files[name]
		if !ok {
			t.Errorf(".MTREE lists %s, which is missing", name)
			continue
		}
		listed++
		sum := sha256.Sum256(m.data)
		for want, is := range map[string]bool{"type=dir": m.Typeflag == tar.TypeDir, "link=" + m.Linkname: m.Typeflag == tar.TypeSymlink, "sha256digest=" + hex.EncodeToString(sum[:]): m.Typeflag == tar.TypeReg} {
			if is && !strings.Contains(text, want) {
				t.Errorf(".MTREE: %s: %s, want %s", name, text, want)
			}
		}
	}
	// All but the list itself and the scripts.
	if want := len(files) - 2; listed < want || listed < 50 {
		t.Errorf(".MTREE lists %d files of %d", listed, want)
	}
}
