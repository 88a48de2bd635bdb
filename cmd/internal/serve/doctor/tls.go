package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-pcp/pcp/internal/tlsconf"
)

func tlsFaults() []kind {
	const refused = "Clients that verify it refuse the connection."
	return []kind{
		{"tls.configuration", fault, "tls.conf cannot be used.", "The collector offers no TLS."},
		{"tls.missing", fault, "A file that tls.conf names does not exist.", "The collector offers no TLS."},
		{"tls.mismatch", fault, "A certificate and its key do not belong together, or cannot be read.", "The collector offers no TLS."},
		{"tls.expired", fault, "A certificate has expired.", refused},
		{"tls.expires", warning, "A certificate expires within 30 days.", "From then on clients refuse the connection."},
		{"tls.early", fault, "A certificate is not valid yet.", refused},
		{"tls.name", warning, "The certificate of the collector does not have the name of this host.", refused},
		{"tls.key-open", fault, "Other users may read a private key.", "They can pretend to be this collector."},
	}
}

func tlsChecks() []check { return []check{{"certificates", false, false, checkTLS}} }

// expiresSoon is the time before its end at which a certificate should have been renewed.
const expiresSoon = 30 * 24 * time.Hour

// checkTLS examines the certificates of tls.conf.
func checkTLS(_ context.Context, s *site) []finding {
	paths := []string{tlsconf.Path(s.conf)}
	for _, u := range s.running() {
		paths = append(paths, option(u.args, "tls")...)
	}
	var list []finding
	for _, path := range paths {
		if !exists(path) {
			continue
		}
		list = append(list, s.tlsFile(path)...)
	}
	return list
}

func (s *site) tlsFile(path string) []finding {
	edit := `"${EDITOR:-vi}" ` + words(path)
	f, err := tlsconf.ReadFile(path)
	if err != nil {
		return []finding{{id: "tls.configuration", subject: path, text: fmt.Sprintf("%s: %v", path, err), command: edit}}
	}
	var list []finding
	missing := false
	for _, name := range []string{f.CertFile, f.KeyFile, f.ClientCertFile, f.ClientKeyFile, f.CAFile, f.CADir} {
		if name != "" && !exists(name) {
			missing = true
			list = append(list, finding{id: "tls.missing", subject: name, text: fmt.Sprintf("%s names %s, which does not exist", path, name), command: edit})
		}
	}
	for _, name := range []string{f.KeyFile, f.ClientKeyFile} {
		if st, err := os.Stat(name); name != "" && err == nil && st.Mode().Perm()&0o027 != 0 {
			open := finding{id: "tls.key-open", subject: name, text: fmt.Sprintf("the key %s has the permissions %04o", name, st.Mode().Perm())}
			list = append(list, open.chmod(name, st.Mode().Perm()&0o640))
		}
	}
	if missing {
		return list
	}
	for _, pair := range [][2]string{{f.CertFile, f.KeyFile}, {f.ClientCertFile, f.ClientKeyFile}} {
		if pair[0] == "" || pair[1] == "" {
			continue
		}
		if _, err := tls.LoadX509KeyPair(pair[0], pair[1]); err != nil {
			list = append(list, finding{
				id: "tls.mismatch", subject: pair[0], text: fmt.Sprintf("the certificate %s and the key %s: %s", pair[0], pair[1], strings.TrimPrefix(err.Error(), "tls: ")), command: edit,
			})
			return list
		}
	}
	for _, name := range []string{f.CertFile, f.ClientCertFile, f.CAFile} {
		if name != "" {
			list = append(list, s.certificate(name, name == f.CertFile)...)
		}
	}
	if f.CertFile != "" && len(list) == 0 {
		if _, err := f.Server(); err != nil {
			list = append(list, finding{id: "tls.configuration", subject: path, text: fmt.Sprintf("%s: %v", path, err), command: edit})
		}
	}
	return list
}

// certificate examines the first certificate of a file.
func (s *site) certificate(name string, server bool) []finding {
	show := "openssl x509 -noout -subject -dates -in " + words(name)
	b, err := readSmall(name)
	if err != nil {
		return []finding{{id: "tls.missing", subject: name, text: err.Error(), command: show}}
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return []finding{{id: "tls.mismatch", subject: name, text: name + " has no certificate", command: show}}
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return []finding{{id: "tls.mismatch", subject: name, text: fmt.Sprintf("%s: %v", name, err), command: show}}
	}
	date := func(t time.Time) string { return t.In(s.env.Local()).Format("2 January 2006 15:04") }
	switch {
	case s.now.After(c.NotAfter):
		return []finding{{id: "tls.expired", subject: name, text: fmt.Sprintf("the certificate %s expired on %s", name, date(c.NotAfter)), command: show}}
	case s.now.Before(c.NotBefore):
		return []finding{{id: "tls.early", subject: name, text: fmt.Sprintf("the certificate %s is valid from %s on", name, date(c.NotBefore)), command: show}}
	case c.NotAfter.Sub(s.now) < expiresSoon && c.NotAfter.Sub(c.NotBefore) > 2*expiresSoon: // others are renewed automatically
		return []finding{{id: "tls.expires", subject: name, text: fmt.Sprintf("the certificate %s expires on %s", name, date(c.NotAfter)), command: show}}
	}
	host, err := os.Hostname()
	if !server || err != nil || c.VerifyHostname(host) == nil {
		return nil
	}
	for _, n := range c.DNSNames { // a full name of this host
		if first, _, _ := strings.Cut(n, "."); first == host || strings.HasPrefix(n, "*.") {
			return nil
		}
	}
	return []finding{{id: "tls.name", subject: name, text: fmt.Sprintf("the certificate %s is for %s, and not for %s", name, strings.Join(c.DNSNames, ", "), host), command: show}}
}
