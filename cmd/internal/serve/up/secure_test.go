package up

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/testing/tlstest"
	"github.com/go-pcp/pcp/pmapi"
)

// TestSecure offers TLS.
func TestSecure(t *testing.T) {
	ca := tlstest.NewCA(t, "CA")
	cert := ca.Cert(t, tlstest.Server())
	conf := tlstest.Conf(t, "tls-cert-file", cert.File, "tls-key-file", cert.Key)
	out, _ := start(t, map[string]string{"HOME": tempDir(t)}, "--port", "0", "--tls", conf)
	m := regexp.MustCompile(`address  (127\.0\.0\.1:\d+)`).FindStringSubmatch(out.String())
	if m == nil {
		t.Fatalf("no address: %s", out)
	}
	d := pmapi.Dialer{Config: config.New(func(name string) string {
		if name == "PCP_TLSCONF_PATH" {
			return tlstest.Conf(t, "tls-ca-cert-file", ca.File, "tls-verify-server", "true")
		}
		return os.Getenv(name)
	})}
	c, err := d.Dial(t.Context(), "pcps://"+m[1])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.LookupName(t.Context(), "pmcd.version"); err != nil {
		t.Error(err)
	}
}

// TestSecureErrors keep it from starting.
func TestSecureErrors(t *testing.T) {
	for conf, want := range map[string]string{
		"/none/tls.conf": "No such file or directory",
		tlstest.Conf(t):  "no certificate file found",
		tlstest.Conf(t, "tls-cert-file", "/none", "tls-key-file", "/none"): "Cannot load certificate chain from /none",
	} {
		out, errs := new(screen), new(screen)
		n := run(t.Context(), testEnv(out, errs, map[string]string{"HOME": tempDir(t)}, "--port", "0", "--tls", conf))
		if n != 1 || !strings.Contains(errs.String(), conf+": "+want) {
			t.Errorf("exits with %d, says %q, want %q", n, errs, want)
		}
	}
}
