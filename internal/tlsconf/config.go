package tlsconf

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// base returns the common part of both sides.
func (f *File) base() (*tls.Config, error) {
	cfg := &tls.Config{
		MinVersion: tls.VersionTLS12,
		// PDUs are short, or should come soon: records need not grow slowly.
		DynamicRecordSizingDisabled: true,
	}
	if f.Ciphers != "" {
		ids, err := parseCiphers(f.Ciphers)
		if err != nil {
			return nil, &Error{"Cannot set the cipher list from " + f.Ciphers, err}
		}
		cfg.CipherSuites = ids
	}
	if f.CipherSuites != "" {
		if err := checkSuites13(f.CipherSuites); err != nil {
			return nil, &Error{"Cannot set the cipher suites from " + f.CipherSuites, err}
		}
	}
	return cfg, nil
}

// Server returns the configuration of a collector: it shows its certificate,
// asks for the client's, and trusts it if an authority that the file names has
// signed it, so none if the file names none. A client certificate is optional;
// requiring it is the collector's choice, not the file's. Errors are of type
// *Error.
//
// Not supported, and reported as errors: keys under a passphrase, a choice among
// the cipher suites of TLS 1.3, @SECLEVEL.
func (f *File) Server() (*tls.Config, error) {
	if f.CertFile == "" {
		return nil, &Error{"no certificate file found", nil}
	}
	if f.KeyFile == "" {
		return nil, &Error{"no private key found", nil}
	}
	cfg, err := f.base()
	if err != nil {
		return nil, err
	}
	cert, err := loadPair(f.CertFile, f.KeyFile, "certificate chain", "private key")
	if err != nil {
		return nil, err
	}
	cfg.Certificates = []tls.Certificate{cert}
	cfg.ClientAuth = tls.VerifyClientCertIfGiven
	if cfg.ClientCAs, err = f.trusted(); err != nil {
		return nil, &Error{"Cannot load the client CA list from " + f.CAFile, err}
	}
	if cfg.ClientCAs == nil {
		cfg.ClientCAs = x509.NewCertPool()
	}
	// No client of PCP comes back to a session, and without tickets a stolen
	// key of theirs opens none.
	cfg.SessionTicketsDisabled = true
	return cfg, nil
}

// Names of environment variables that relax tls-verify-server (PCPIntro(1)).
const (
	AllowBadCertDomain  = "PCP_ALLOW_BAD_CERT_DOMAIN"
	AllowServerSelfCert = "PCP_ALLOW_SERVER_SELF_CERT"
)

// Client returns the configuration of a client that connects to a host. It
// verifies the server as the file requires: see the package comment. getenv
// is for the variables that relax that. Errors are of type *Error.
func (f *File) Client(host string, getenv func(string) string) (*tls.Config, error) {
	cfg, err := f.base()
	if err != nil {
		return nil, err
	}
	cfg.ServerName = host
	if cfg.RootCAs, err = f.trusted(); err != nil {
		return nil, &Error{"Cannot load the CA Certificate list from " + f.CAFile, err}
	}
	var cert *tls.Certificate
	switch {
	case f.ClientCertFile != "":
		cert, err = loadClientPair(f.ClientCertFile, f.ClientKeyFile, "client certificate chain", "client private key")
	case f.CertFile != "":
		cert, err = loadClientPair(f.CertFile, f.KeyFile, "certificate chain", "private key")
	}
	if err != nil {
		return nil, err
	}
	if cert != nil {
		// The certificate is sent to any server that asks, regardless of the
		// authorities that the server trusts, as OpenSSL does: the server must
		// refuse it.
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
	}
	// The checks of crypto/tls are all or nothing.
	cfg.InsecureSkipVerify = true
	v := verifier{roots: cfg.RootCAs}
	switch {
	case isTrue(f.VerifyServer):
		if getenv(AllowBadCertDomain) == "" {
			v.host = host
		}
		v.selfSigned = getenv(AllowServerSelfCert) != ""
		cfg.VerifyConnection = v.verify
	case isTrue(f.VerifyClients):
		cfg.VerifyConnection = v.verify
	}
	return cfg, nil
}

// A verifier checks a collector's certificate.
type verifier struct {
	roots      *x509.CertPool // nil are the system's
	host       string         // whose certificate it must be; "" is anybody's
	selfSigned bool           // it need not be signed by anybody else
}

func (v verifier) verify(cs tls.ConnectionState) error {
	if len(cs.PeerCertificates) == 0 {
		return errors.New("the collector has no certificate")
	}
	leaf := cs.PeerCertificates[0]
	opts := x509.VerifyOptions{
		Roots: v.roots, DNSName: v.host, Intermediates: x509.NewCertPool(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, c := range cs.PeerCertificates[1:] {
		opts.Intermediates.AddCert(c)
	}
	_, err := leaf.Verify(opts)
	var unknown x509.UnknownAuthorityError
	if v.selfSigned && errors.As(err, &unknown) && leaf.CheckSignature(leaf.SignatureAlgorithm, leaf.RawTBSCertificate, leaf.Signature) == nil {
		opts.Roots = x509.NewCertPool()
		opts.Roots.AddCert(leaf)
		_, err = leaf.Verify(opts)
	}
	if err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: cs.PeerCertificates, Err: err}
	}
	return nil
}

// loadPair loads a certificate with its chain, and its key.
func loadPair(certFile, keyFile, certWord, keyWord string) (tls.Certificate, error) {
	certText, err := readFile(certFile, maxFile)
	if err == nil && !hasBlock(certText, "CERTIFICATE") {
		err = errors.New("it holds no certificate in PEM form")
	}
	if err != nil {
		return tls.Certificate{}, &Error{"Cannot load " + certWord + " from " + certFile, err}
	}
	keyText, err := readFile(keyFile, maxFile)
	if err == nil {
		err = checkKey(keyText)
	}
	if err != nil {
		return tls.Certificate{}, &Error{"Cannot load " + keyWord + " from " + keyFile, err}
	}
	cert, err := tls.X509KeyPair(certText, keyText)
	if err != nil {
		return cert, &Error{"Cannot validate the private key", fmt.Errorf("%s with %s: %w", keyFile, certFile, err)}
	}
	return cert, nil
}

// loadClientPair is for a client, which can do without a key, and then has no
// certificate to show either.
func loadClientPair(certFile, keyFile, certWord, keyWord string) (*tls.Certificate, error) {
	if keyFile == "" {
		return nil, nil
	}
	cert, err := loadPair(certFile, keyFile, certWord, keyWord)
	if err != nil {
		return nil, err
	}
	return &cert, nil
}

// hasBlock reports whether text has a PEM block whose type ends so.
func hasBlock(text []byte, suffix string) bool {
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return false
		}
		if strings.HasSuffix(block.Type, suffix) {
			return true
		}
		text = rest
	}
}

func checkKey(text []byte) error {
	switch {
	case !hasBlock(text, "PRIVATE KEY"):
		return errors.New("it holds no key in PEM form")
	case hasBlock(text, "ENCRYPTED PRIVATE KEY"), bytes.Contains(text, []byte("Proc-Type: 4,ENCRYPTED")):
		return errors.New("a key under a passphrase is not supported")
	}
	return nil
}

// trusted returns the certificates of the authorities that the file trusts, or nil
// if it names none.
func (f *File) trusted() (*x509.CertPool, error) {
	if f.CAFile == "" && f.CADir == "" {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if f.CAFile != "" {
		text, err := readFile(f.CAFile, maxCA)
		if err != nil {
			return nil, err
		}
		if !pool.AppendCertsFromPEM(text) {
			return nil, errors.New("it holds no certificate in PEM form")
		}
	}
	if f.CADir != "" {
		addDir(pool, f.CADir)
	}
	return pool, nil
}

// addDir adds the certificates of a directory that has been prepared with
// openssl rehash: files with names of eight hexadecimal digits and a number.
// OpenSSL looks at no others, and ignores missing files.
func addDir(pool *x509.CertPool, dir string) {
	names, err := filepath.Glob(filepath.Join(escapeGlob(dir), "[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f].[0-9]*"))
	if err != nil {
		return
	}
	slices.Sort(names)
	left := int64(maxCA)
	for _, name := range names[:min(len(names), maxCADir)] {
		text, err := readFile(name, left)
		if err != nil {
			continue
		}
		left -= int64(len(text))
		pool.AppendCertsFromPEM(text)
	}
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
