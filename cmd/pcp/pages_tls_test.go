package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/testing/docpage"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// TestCertificatePage makes the certificates of docs/security.md with the commands of the page, has a collector serve with the settings of the
// page, and connects to it.
func TestCertificatePage(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the page is about metrics of Linux")
	}
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("SKIPPED: there is no openssl")
	}
	w := newPageWorld(t)
	etc := filepath.Join(w.dir, "etc")
	at := strings.NewReplacer("/etc/pcp", etc, "chown pcp ", `chown "$(id -u)" `)
	page := docpage.Read(t, "docs/security.md")
	script, n := "set -e\n", 0
	for _, c := range documented(t) {
		c.Text = uncommented(c)
		if e := in(elsewhere, c); c.Page == "docs/security.md" && e != nil && e.reason == "cmd/pcp TestCertificatePage" && !strings.HasPrefix(c.Text, "pminfo") {
			script += at.Replace(c.Text) + "\n"
			n++
		}
	}
	if n != 8 {
		t.Fatalf("the page has %d commands for certificates", n)
	}
	w.must(t, script)
	// The settings of the collector, those of a client that verifies it, and the client's certificate.
	settings := strings.Join(regexp.MustCompile(`(?m)^    tls-[a-z-]+ = .*$`).FindAllString(page.Text, -1), "\n")
	for _, name := range []string{"tls-key-file", "tls-cert-file", "tls-ca-cert-file", "tls-verify-server", "tls-client-key-file", "tls-client-cert-file"} {
		if !strings.Contains(settings, name+" = ") {
			t.Errorf("the page has no setting %s", name)
		}
	}
	conf := filepath.Join(etc, "tls.conf")
	if err := os.WriteFile(conf, []byte(at.Replace(strings.ReplaceAll(settings, "    ", ""))+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	up := w.start(t, "pcp up --no-record --tls "+conf+" --port "+w.port+" --socket "+w.socket+" --web-port 0")
	defer w.stop(t, up, "pcp up")
	// For localhost a client wants a certificate for the name of the host.
	line := "PCP_TLSCONF_PATH=" + conf + " pminfo -f -h pcps://127.0.0.1:" + w.port + " pmcd.feature.secure"
	await.Until(t, "the collector serves with TLS", func() bool {
		out, err := w.command(t.Context(), line).CombinedOutput()
		return err == nil && strings.HasSuffix(string(out), "value 1\n")
	})
	// Without the authority the client refuses the same collector.
	if err := os.WriteFile(conf+".other", []byte("tls-verify-server = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := w.command(t.Context(), strings.ReplaceAll(line, conf, conf+".other")).CombinedOutput(); err == nil || !strings.Contains(string(out), "TLS protocol failure") {
		t.Errorf("without the authority: %v\n%s", err, out)
	}
}
