package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"golang.org/x/crypto/ssh"
)

func TestParse(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		_, err := parse(args, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parse(%q) = %v, want an error with %q", args, err, want)
		}
	}
	f("no version")
	for _, v := range []string{"1", "1.2", "v1.2.3", "1.2.3.4", "1.2.x", "01.2.3", "1.2.3-rc1", "1.2.3\n", "1.2.3333333"} {
		f("bad version", "-version", v)
	}
	f("bad revision", "-version", "1.2.3", "-revision", "0")
	f(`unknown architecture "sparc"`, "-version", "1.2.3", "-arch", "amd64,sparc")
	f(`unknown format "exe"`, "-version", "1.2.3", "-formats", "exe")
	f("no output directory", "-version", "1.2.3", "-out", "")
	f(`unexpected argument "now"`, "-version", "1.2.3", "now")
	f("exclude each other", "-version", "1.2.3", "-verify", "-dirty")
	f("exclude each other", "-version", "1.2.3", "-verify", "-pgp-key", "x")
	f("not defined", "-nosuch")
	o, err := parse([]string{"-version", "1.2.3", "-arch", "arm64,amd64", "-formats", "deb"}, io.Discard)
	if err != nil || !slices.Equal(o.arches, []string{"amd64", "arm64"}) || !slices.Equal(o.formats, []string{"deb"}) || o.revision != "1" || o.out != "dist" {
		t.Errorf("parse = %+v, %v", o, err)
	}
}

// TestInspect checks the errors for repositories that cannot be released.
func TestInspect(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: there is no git")
	}
	t.Chdir(t.TempDir())
	t.Setenv("SOURCE_DATE_EPOCH", "")
	f := func(version string, dirty bool, want string) {
		t.Helper()
		_, err := inspect(t.Context(), version, dirty)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("inspect: %v, want an error with %q", err, want)
		}
	}
	f("1.2.3", false, "not in the root of the repository")
	put := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	put("internal/version/version.go", "package version\n")
	f("1.2.3", false, "has no line")
	put("internal/version/version.go", "package version\n\nconst Number = \"1.2.3\"\n")
	f("1.2.4", false, "the source has version 1.2.3")
	f("1.2.3", false, "git status")
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	run("init", "--quiet")
	f("1.2.3", false, "?? internal/")
	f("1.2.3", true, "git log")
	run("add", ".")
	t.Setenv("GIT_COMMITTER_DATE", "1700000000 +0200")
	run("-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "--quiet", "-m", "x")
	s, err := inspect(t.Context(), "1.2.3", false)
	if err != nil || len(s.commit) != 40 || s.time.Unix() != 1700000000 || s.time.Location() != time.UTC {
		t.Errorf("inspect = %+v, %v", s, err)
	}
	put("new", "")
	f("1.2.3", false, "?? new")
	if _, err := inspect(t.Context(), "1.2.3", true); err != nil {
		t.Error(err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	f("1.2.3", true, `bad time "yesterday"`)
}

func TestWritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below"), "/proc/none"} {
		if err := writable(dir); err == nil || !strings.Contains(err.Error(), "output directory") {
			t.Errorf("writable(%s): %v", dir, err)
		}
	}
}

// key writes a private key of OpenSSH and returns its path.
func key(t *testing.T, k any, phrase string) string {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(k, "test")
	if phrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(k, "test", []byte(phrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestSigner(t *testing.T) {
	_, k, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	f := func(file, want string) {
		t.Helper()
		if _, err := signer(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("signer: %v, want an error with %q", err, want)
		}
	}
	f("/no/such/key", "/no/such/key: no such file")
	garbage := filepath.Join(t.TempDir(), "garbage")
	os.WriteFile(garbage, []byte("not a key"), 0o600)
	f(garbage, garbage+": ssh: no key found")
	file := key(t, k, "")
	s, err := signer(file)
	if err != nil {
		t.Fatal(err)
	}
	public := filepath.Join(t.TempDir(), "key.pub")
	os.WriteFile(public, ssh.MarshalAuthorizedKey(s.PublicKey()), 0o600)
	f(public, "is a public key")
	locked := key(t, k, "secret")
	f(locked, "set RELEASE_KEY_PASSPHRASE")
	t.Setenv("RELEASE_KEY_PASSPHRASE", "wrong")
	f(locked, "key: "+locked)
	t.Setenv("RELEASE_KEY_PASSPHRASE", "secret")
	if _, err := signer(locked); err != nil {
		t.Error(err)
	}
	if r, err := rsa.GenerateKey(rand.Reader, 2048); err == nil {
		f(key(t, r, ""), "want one of ssh-keygen -t ed25519")
	}

	// OpenSSH accepts the signature, of this text only.
	text := []byte("sums\n")
	signature, err := sign(s, text)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := sign(s, text); err != nil || !bytes.Equal(again, signature) {
		t.Errorf("a second signature differs: %v", err)
	}
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("SKIPPED: there is no ssh-keygen")
	}
	dir := t.TempDir()
	sig, allowed := filepath.Join(dir, "sig"), filepath.Join(dir, "allowed")
	os.WriteFile(sig, signature, 0o666)
	os.WriteFile(allowed, append([]byte("pcp "), ssh.MarshalAuthorizedKey(s.PublicKey())...), 0o666)
	check := func(text string) error {
		cmd := exec.Command("ssh-keygen", "-Y", "verify", "-f", allowed, "-I", "pcp", "-n", "file", "-s", sig)
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if err := check("sums\n"); err != nil {
		t.Error(err)
	}
	if err := check("other\n"); err == nil {
		t.Error("ssh-keygen accepts the signature for another text")
	}
}

// atRoot changes to the root of the repository.
func atRoot(t *testing.T) {
	t.Helper()
	t.Chdir("../..")
}

// small returns a release of small files, with a text in place of the program, and its input.
func small(t *testing.T) (*release, input) {
	t.Helper()
	if _, err := exec.LookPath("zstd"); err != nil {
		t.Skip("SKIPPED: there is no zstd")
	}
	dir := t.TempDir()
	put := func(name, text string, mode os.FileMode) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		// Times of files must not matter.
		if err := os.Chtimes(path, time.Now(), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	for _, prefix := range []string{"usr", "usr/local"} {
		put(prefix+"/bin/pcp", "the program of this machine", 0o755)
		for _, link := range []string{"pminfo", "pmcd", "pmdalinux"} {
			if err := os.Symlink("pcp", filepath.Join(dir, prefix, "bin", link)); err != nil {
				t.Fatal(err)
			}
		}
		put(prefix+"/share/man/man1/pcp.1", ".TH PCP 1\n", 0o644)
		put(prefix+"/lib/systemd/system/pcp-pmcd.service", "[Unit]\n", 0o644)
		put(prefix+"/lib/sysusers.d/pcp.conf", "u pcp -\n", 0o644)
	}
	for _, name := range []string{"pmcd.conf", "pmcd.options", "pmlogger.control", "pmproxy.conf", "pmproxy.options", "pcp.conf", "pcp.env", "tls.conf"} {
		put("usr/share/doc/pcp/examples/"+name, "# "+name+"\n", 0o644)
	}
	put("program", "the program", 0o755)
	put("gpu", "the second program", 0o755)
	all, err := walk(dir)
	if err != nil {
		t.Fatal(err)
	}
	var usr, local tree
	for _, e := range all {
		if strings.HasPrefix(e.path+"/", "/usr/local/") {
			local = append(local, e)
		} else if e.path != "/program" && e.path != "/gpu" {
			usr = append(usr, e)
		}
	}
	program, gpu := filepath.Join(dir, "program"), filepath.Join(dir, "gpu")
	r := &release{
		options: options{version: "1.2.3", revision: "4", out: t.TempDir()},
		source:  source{commit: strings.Repeat("0123456789", 4), time: time.Unix(1700000000, 0).UTC()},
		work:    t.TempDir(), level: gzip.BestSpeed,
	}
	return r, input{
		arch: "arm64", program: program, stage: dir,
		usr:   usr.withProgram("/usr/bin/pcp", program).with("/usr/bin/pcp-gpu", gpu),
		local: local.withProgram("/usr/local/bin/pcp", program).with("/usr/local/bin/pcp-gpu", gpu),
	}
}

// makeAll makes all files of a small release except the SBOM, which needs a real program.
func makeAll(t *testing.T) *release {
	t.Helper()
	r, in := small(t)
	for _, f := range formats {
		var err error
		switch {
		case f.name == "sbom":
		case f.make != nil:
			err = f.make(t.Context(), r, in)
		case f.alone != nil:
			err = f.alone(t.Context(), r)
		default:
			err = f.together(t.Context(), r, []input{in})
		}
		if err != nil {
			t.Fatalf("%s: %v", f.name, err)
		}
	}
	if err := r.sums(); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestReproducible makes all files twice, of copies in two directories with other times.
func TestReproducible(t *testing.T) {
	atRoot(t)
	a := makeAll(t)
	time.Sleep(1100 * time.Millisecond) // the times of most formats have seconds
	b := makeAll(t)
	if len(a.products) < 13 {
		t.Errorf("there are only %d files", len(a.products))
	}
	if err := a.compare(b.out); err != nil {
		t.Error(err)
	}
	// A difference is found.
	if err := os.WriteFile(b.path(a.products[0].name), []byte("other"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := a.compare(b.out); err == nil || !strings.Contains(err.Error(), a.products[0].name+": the two builds differ") {
		t.Errorf("compare: %v", err)
	}
}

// TestContents lists the files of packages with the tools of the distributions, and of the tar.gz.
func TestContents(t *testing.T) {
	atRoot(t)
	r := makeAll(t)
	type contents struct{ has, lacks []string }
	all := contents{has: []string{
		"/usr/bin/pcp", "/usr/bin/pcp-gpu", "/usr/bin/pminfo", "/usr/bin/pmcd", "/usr/bin/pmdalinux", "/usr/share/man/man1/pcp.1.gz", "/usr/lib/systemd/system/pcp-pmcd.service",
		"/usr/lib/sysusers.d/pcp.conf", "/etc/pcp/pmcd/pmcd.conf", "/etc/pcp/pmproxy/pmproxy.conf",
	}}
	tools := contents{
		has:   []string{"/usr/bin/pcp", "/usr/bin/pminfo", "/usr/share/man/man1/pcp.1.gz"},
		lacks: []string{"/usr/bin/pcp-gpu", "/usr/bin/pmcd", "/usr/bin/pmdalinux", "/usr/lib/systemd/system/pcp-pmcd.service", "/usr/lib/sysusers.d/pcp.conf", "/etc/pcp/pmcd/pmcd.conf"},
	}
	check := func(name string, list []string, want contents) {
		t.Helper()
		for _, f := range want.has {
			if !slices.Contains(list, f) {
				t.Errorf("%s has no %s", name, f)
			}
		}
		for _, f := range want.lacks {
			if slices.Contains(list, f) {
				t.Errorf("%s has %s", name, f)
			}
		}
	}
	output := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	missing := ""
	if _, err := exec.LookPath("dpkg-deb"); err == nil {
		for name, want := range map[string]contents{"pcp-go": all, "pcp-go-tools": tools} {
			file := r.path(name + "_1.2.3-4_arm64.deb")
			var list []string
			for line := range strings.Lines(output("dpkg-deb", "--contents", file)) {
				fields := strings.Fields(line)
				list = append(list, strings.TrimPrefix(fields[5], "."))
			}
			want.has = slices.Clone(want.has)
			for i, f := range want.has { // postinst copies these
				if name, ok := strings.CutPrefix(f, "/etc/pcp/"); ok {
					want.has[i] = "/usr/share/pcp-go/etc/" + name
				}
			}
			check(file, list, want)
			if got := strings.Fields(output("dpkg-deb", "--field", file, "Package", "Version", "Architecture")); !slices.Equal(got, []string{"Package:", name, "Version:", "1.2.3-4", "Architecture:", "arm64"}) {
				t.Errorf("%s is %q", file, got)
			}
		}
	} else {
		missing += " dpkg-deb"
	}
	if _, err := exec.LookPath("rpm"); err == nil {
		for name, want := range map[string]contents{"pcp-go": all, "pcp-go-tools": tools} {
			file := r.path(name + "-1.2.3-4.aarch64.rpm")
			check(file, strings.Fields(output("rpm", "--query", "--list", "--package", file)), want)
			output("rpm", "--checksig", "--nosignature", file)
			if got := output("rpm", "--query", "--queryformat", "%{NAME} %{VERSION}-%{RELEASE} %{ARCH} %{BUILDHOST}", "--package", file); got != name+" 1.2.3-4 aarch64 localhost" {
				t.Errorf("%s is %q", file, got)
			}
		}
	} else {
		missing += " rpm"
	}

	f, err := os.Open(r.path("pcp-1.2.3-linux-arm64.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for files := tar.NewReader(z); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, h.Name)
		if h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 1700000000 || h.Mode&0o022 != 0 && h.Linkname == "" {
			t.Errorf("%s: owner %d:%d, mode %o, time %v", h.Name, h.Uid, h.Gid, h.Mode, h.ModTime)
		}
		if h.Name == "pcp-1.2.3-linux-arm64/bin/pcp" {
			if b, err := io.ReadAll(files); err != nil || string(b) != "the program" {
				t.Errorf("the program is %q, %v", b, err)
			}
		}
	}
	check("the tar.gz", list, contents{has: []string{"pcp-1.2.3-linux-arm64/", "pcp-1.2.3-linux-arm64/bin/pcp", "pcp-1.2.3-linux-arm64/bin/pcp-gpu", "pcp-1.2.3-linux-arm64/bin/pminfo", "pcp-1.2.3-linux-arm64/share/man/man1/pcp.1"}})
	if missing != "" {
		t.Skip("SKIPPED: not installed, so their packages were not read:" + missing)
	}
}

// TestPackageSignatures has rpm check the signature of a package.
func TestPackageSignatures(t *testing.T) {
	if err := checkPGP("/no/such/key"); err == nil || !strings.Contains(err.Error(), "/no/such/key: no such file") {
		t.Errorf("checkPGP: %v", err)
	}
	atRoot(t)
	if err := checkPGP("Makefile"); err == nil || !strings.Contains(err.Error(), "OpenPGP key: Makefile: ") {
		t.Errorf("checkPGP: %v", err)
	}
	key, err := openpgp.NewEntity("pcp", "", "pcp@example.com", &packet.Config{Algorithm: packet.PubKeyAlgoRSA, RSABits: 2048})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	secret, public := filepath.Join(dir, "secret"), filepath.Join(dir, "public")
	put := func(file, kind string, serialize func(w io.Writer) error) {
		t.Helper()
		var b bytes.Buffer
		w, err := armor.Encode(&b, kind, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(serialize(w), w.Close(), os.WriteFile(file, b.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	put(secret, openpgp.PrivateKeyType, func(w io.Writer) error { return key.SerializePrivate(w, nil) })
	put(public, openpgp.PublicKeyType, key.Serialize)
	if err := checkPGP(public); err == nil || !strings.Contains(err.Error(), "want one secret key") {
		t.Errorf("checkPGP of a public key: %v", err)
	}
	if err := checkPGP(secret); err != nil {
		t.Error(err)
	}
	r, in := small(t)
	r.pgpKey = secret
	for _, format := range []string{"deb", "rpm"} {
		if err := makePackages(format)(t.Context(), r, in); err != nil {
			t.Fatal(err)
		}
	}
	deb, err := os.ReadFile(r.path("pcp-go_1.2.3-4_arm64.deb"))
	if err != nil || !bytes.Contains(deb, []byte("_gpgorigin")) {
		t.Errorf("the deb has no signature, %v", err)
	}
	if _, err := exec.LookPath("rpmkeys"); err != nil {
		t.Skip("SKIPPED: there is no rpmkeys")
	}
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("rpmkeys", append([]string{"--dbpath", dir}, args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("rpmkeys %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("--import", public)
	if out := run("--checksig", "--verbose", r.path("pcp-go-1.2.3-4.aarch64.rpm")); !strings.Contains(out, "Signature, key ID") || strings.Contains(out, "NOKEY") {
		t.Errorf("rpmkeys: %s", out)
	}
}

// TestImage reads the image as an OCI layout and as the file for docker.
func TestImage(t *testing.T) {
	atRoot(t)
	r := makeAll(t)
	docker, err := tarball.ImageFromPath(r.path("pcp-1.2.3-image-linux-arm64.tar"), nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if out, err := exec.Command("tar", "-C", dir, "-xf", r.path("pcp-1.2.3-image-oci.tar")).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("the index is %+v, %v", manifest, err)
	}
	if p := manifest.Manifests[0].Platform; p == nil || p.OS != "linux" || p.Architecture != "arm64" {
		t.Errorf("the platform is %v", p)
	}
	oci, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	for img, want := range map[v1.Image]types.MediaType{docker: types.DockerLayer, oci: types.OCILayerZStd} {
		layers, err := img.Layers()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range layers {
			if media, err := l.MediaType(); media != want || err != nil {
				t.Errorf("a layer is %s, want %s (%v)", media, want, err)
			}
			checkSums(t, l)
		}
		if err := validate.Image(img, validate.Fast); err != nil {
			t.Error(err)
		}
		c, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if c.Architecture != "arm64" || c.OS != "linux" || c.Config.User != "65532:65532" || c.Created.Unix() != 1700000000 ||
			!slices.Equal(c.Config.Entrypoint, []string{"/usr/bin/pcp", "up"}) ||
			c.Config.Healthcheck == nil || !slices.Equal(c.Config.Healthcheck.Test, []string{"CMD", "/usr/bin/pcp", "doctor", "--quiet"}) ||
			c.Config.Labels["org.opencontainers.image.version"] != "1.2.3" || c.Config.Labels["org.opencontainers.image.revision"] != r.source.commit {
			text, _ := json.MarshalIndent(c, "", "\t")
			t.Errorf("the configuration is %s", text)
		}
		entries := imageEntries(t, img)
		for name, want := range map[string]string{"usr/bin/pcp": "0755 0", "var/lib/pcp/": "0755 65532", "tmp/": "1777 0", "etc/passwd": "0644 0", "etc/ssl/certs/ca-certificates.crt": "0644 0", "usr/share/zoneinfo.zip": "0644 0"} {
			if h := entries[name]; h == nil || fmt.Sprintf("%04o %d", h.Mode, h.Uid) != want {
				t.Errorf("%s is %+v, want %s", name, h, want)
			}
		}
		if h := entries["usr/bin/pcp-gpu"]; h != nil {
			t.Error("the image has pcp-gpu, which cannot run there")
		}
		if h := entries["usr/bin/pminfo"]; h == nil || h.Linkname != "pcp" {
			t.Errorf("pminfo is %+v", h)
		}
		if h := entries["etc/ssl/certs/ca-certificates.crt"]; h != nil && h.Size < 100_000 {
			t.Errorf("the certificates have %d bytes", h.Size)
		}
		if h := entries["usr/share/zoneinfo.zip"]; h != nil && h.Size < 200_000 {
			t.Errorf("the time zones have %d bytes", h.Size)
		}
	}
}

// checkSums compares the digests of a layer with its bytes. Package validate does that for gzip only.
func checkSums(t *testing.T, l v1.Layer) {
	t.Helper()
	for _, of := range []struct {
		want func() (v1.Hash, error)
		open func() (io.ReadCloser, error)
	}{{l.Digest, l.Compressed}, {l.DiffID, l.Uncompressed}} {
		want, err := of.want()
		if err != nil {
			t.Fatal(err)
		}
		r, err := of.open()
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := v1.SHA256(r); got != want || err != nil {
			t.Errorf("the bytes of a layer have the sum %v, want %v (%v)", got, want, err)
		}
		r.Close()
	}
}

// imageEntries returns the entries of all layers by name.
func imageEntries(t *testing.T, img v1.Image) map[string]*tar.Header {
	t.Helper()
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	entries := make(map[string]*tar.Header)
	for _, l := range layers {
		rc, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		for files := tar.NewReader(rc); ; {
			h, err := files.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			entries[h.Name] = h
		}
		rc.Close()
	}
	return entries
}

// TestSBOM compares the SBOM of a program, this test, with the output of go version -m.
func TestSBOM(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, in := small(t)
	in.program, in.gpu = self, self
	if err := makeSBOM(context.Background(), r, in); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(r.path("pcp-1.2.3-linux-arm64.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := os.Stat(r.path("pcp-gpu-1.2.3-linux-arm64.cdx.json")); err != nil {
		t.Error(err)
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(f, cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "version", "-m", self).Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) >= 3 && fields[0] == "dep" {
			want = append(want, strings.Join(fields[1:], " "))
		}
	}
	var got []string
	for _, c := range *bom.Components {
		if c.Name == "std" {
			if info, err := buildinfo.ReadFile(self); err != nil || !strings.HasPrefix(info.GoVersion, "go"+c.Version) {
				t.Errorf("std has version %s", c.Version)
			}
			continue
		}
		text := c.Name + " " + c.Version
		if c.Properties != nil {
			text += " " + (*c.Properties)[0].Value
		}
		got = append(got, text)
	}
	if len(want) < 10 || !slices.Equal(got, want) {
		t.Errorf("the SBOM lists\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	b, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if sum := (*bom.Metadata.Component.Hashes)[0].Value; sum != fmt.Sprintf("%x", sha256.Sum256(b)) {
		t.Errorf("the sum of the program is %s", sum)
	}
}

// TestSums has sha256sum check the sums, and a signature of an earlier release removed.
func TestSums(t *testing.T) {
	r, _ := small(t)
	if err := r.write("file", "test", func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.path(signatureName), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := r.sums(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(r.path(signatureName)); err == nil {
		t.Error("the old signature is still there")
	}
	cmd := exec.Command("sha256sum", "--check", sumsName)
	cmd.Dir = r.out
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "file: OK\n" {
		t.Errorf("sha256sum: %v\n%s", err, out)
	}
}
