package tlsconf_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/tlsconf"
)

const example = `# settings
#tls-cert-file = /not/this
tls-cert-file = /etc/pcp/tls/pcp.crt
  tls-key-file: /etc/pcp/tls/pcp.key   # a comment
tls-ca-cert-file=/etc/pcp/tls/ca.crt#another
tls-ca-cert-dir	=	/etc/ssl/certs /no
tls-client-cert-file = /c.crt
tls-client-key-file = /old
tls-client-key-file = /c.key
tls-ciphers = DEFAULT:!MEDIUM
tls-ciphersuites = TLS_A:TLS_B
tls-verify-clients = true
tls-verify-server = yes
tls-unknown = 1
`

func TestParse(t *testing.T) {
	f := func(text string, want tlsconf.File) {
		t.Helper()
		if diff := cmp.Diff(&want, tlsconf.Parse([]byte(text))); diff != "" {
			t.Errorf("%q: -want +got\n%s", text, diff)
		}
	}
	f("", tlsconf.File{})
	f(example, tlsconf.File{
		CertFile: "/etc/pcp/tls/pcp.crt", KeyFile: "/etc/pcp/tls/pcp.key",
		CAFile: "/etc/pcp/tls/ca.crt", CADir: "/etc/ssl/certs",
		ClientCertFile: "/c.crt", ClientKeyFile: "/c.key",
		Ciphers: "DEFAULT:!MEDIUM", CipherSuites: "TLS_A:TLS_B",
		VerifyClients: "true", VerifyServer: "yes",
	})
	f("tls-cert-file = /a\r\n", tlsconf.File{CertFile: "/a"})
	f("tls-cert-file = /a", tlsconf.File{CertFile: "/a"})
	f("tls-cert-file = \n", tlsconf.File{})
	f("tls-cert-file = # /a\n", tlsconf.File{})
	f("tls-cert-file /a\n", tlsconf.File{})
	f("= /a\n", tlsconf.File{})
	f("tls-cert # = /a\n", tlsconf.File{})
	f("tls-key = /a\n", tlsconf.File{KeyFile: "/a"})              // keys can be cut short, in C too
	f("tls-c = /a\n", tlsconf.File{CertFile: "/a"})               // the first that begins so
	f("tls-key-file-of-mine = /a\n", tlsconf.File{})              //
	f("tls-key-file /a = /b\n", tlsconf.File{KeyFile: "/b"})      // as C has it
	f("TLS-KEY-FILE = /a\n", tlsconf.File{})                      //
	f("tls-key-file = /a\x00b\n", tlsconf.File{KeyFile: "/a"})    //
	f("tls-key-file\x00 = /a\n", tlsconf.File{})                  //
	f("tls-key-file = a:b=c\n", tlsconf.File{KeyFile: "a:b=c"})   //
	f("tls-key-file : = /a\n", tlsconf.File{KeyFile: "="})        // as C has it
	f("\v\ttls-key-file = /a\v/b\n", tlsconf.File{KeyFile: "/a"}) //
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tls.conf")
	got, err := tlsconf.ReadFile(path)
	if want := (&tlsconf.File{Path: path}); err != nil || *got != *want {
		t.Errorf("no file: %+v, %v, want %+v", got, err, want)
	}
	if err := os.WriteFile(path, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := tlsconf.ReadFile(path); err != nil || got.Path != path || got.CAFile != "/etc/pcp/tls/ca.crt" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := tlsconf.ReadFile(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
	if err := os.WriteFile(path, bytes.Repeat([]byte("#\n"), 1<<19+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tlsconf.ReadFile(path); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a long file: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte("tls-key-file = a\x00b\n= x\n:\n#\n\x00"))
	f.Add([]byte("tls-ciphers = ALL:!aNULL:-AES128+SHA1:@STRENGTH:+AES:!:@:-"))
	f.Add([]byte("tls-verify-server: yes\ntls-ciphersuites=TLS_AES_128_GCM_SHA256"))
	f.Fuzz(func(t *testing.T, text []byte) {
		conf := tlsconf.Parse(text)
		var b strings.Builder
		for _, s := range tlsconf.Settings(conf) {
			if strings.ContainsAny(*s.Value, " \t\n\v\f\r#\x00") {
				t.Fatalf("%s = %q", s.Key, *s.Value)
			}
			if *s.Value != "" {
				b.WriteString(s.Key + " = " + *s.Value + "\n")
			}
		}
		if diff := cmp.Diff(conf, tlsconf.Parse([]byte(b.String()))); diff != "" {
			t.Fatalf("what was read reads otherwise when written: -first +second\n%s", diff)
		}
		// Ciphers are a language of their own; no file is opened for them.
		conf = &tlsconf.File{Ciphers: conf.Ciphers, CipherSuites: conf.CipherSuites}
		if cfg, err := conf.Client("host", func(string) string { return "" }); err == nil && conf.Ciphers != "" && len(cfg.CipherSuites) == 0 {
			t.Fatalf("%q allows all cipher suites", conf.Ciphers)
		}
	})
}
