// Package tlsconf reads PCP's tls.conf and converts it to configurations of
// crypto/tls, for the collector's side and for the client's.
//
//	f, err := tlsconf.ReadFile(path)      // no such file: no settings
//	server, err := f.Server()             // the collector's *tls.Config
//	client, err := f.Client("host", nil)  // a client's, to talk to host
//
// The file has lines of the form key = value (or key: value); # starts a
// comment, a value ends at white space. The keys, as of PCP 6.0.3:
//
//	tls-cert-file, tls-key-file                 the collector's certificate and key
//	tls-client-cert-file, tls-client-key-file   a client's; without, it shows the former
//	tls-ca-cert-file, tls-ca-cert-dir           whom either trusts
//	tls-ciphers, tls-ciphersuites               up to TLS 1.2, and of TLS 1.3
//	tls-verify-clients                          true or yes has a client check the collector
//
// The last has the meaning described here, not that of its name: PCP's library
// gives it this meaning. A client of that library checks nothing without it, and
// never whether the certificate is that of the wanted host. Ours does the same, so
// that a file serves both. For a client that checks both, set a key that PCP's
// library does not know and ignores:
//
//	tls-verify-server = true
//
// Both sides speak TLS 1.2 and 1.3. A setting that crypto/tls does not support is
// an error that names it: see [File.Server].
package tlsconf
