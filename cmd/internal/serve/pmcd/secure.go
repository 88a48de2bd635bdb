package pmcd

import (
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/go-pcp/pcp/internal/tlsconf"
	"github.com/go-pcp/pcp/pmcd"
)

// secure has cfg offer TLS if the tls.conf at path has a certificate for it,
// and returns a function that reads it again on a hang-up. As with the C pmcd,
// an unusable certificate keeps pmcd from starting; an unreadable file does
// not.
func secure(cfg *pmcd.Config, path string, logTo io.Writer, log *slog.Logger) (reload func(), err error) {
	k, file, err := tlsconf.Keep(path)
	var unusable *tlsconf.Error
	switch {
	case errors.As(err, &unusable):
		return nil, fmt.Errorf("%s: %w", path, err)
	case err != nil:
		log.Error("TLS is not offered", "err", err)
		return func() {}, nil
	case k == nil:
		return func() {}, nil
	}
	cfg.TLS = k.Config()
	log.Info("TLS setup")
	if file.CipherSuites != "" {
		fmt.Fprintf(logTo, "Using cipher suites: %s\n", file.CipherSuites)
	} else if file.Ciphers != "" {
		fmt.Fprintf(logTo, "Using cipher list: %s\n", file.Ciphers)
	}
	return func() {
		if err := k.Reload(); err != nil {
			log.Error("TLS left unchanged", "file", path, "err", err)
			return
		}
		log.Info("TLS setup again")
	}, nil
}
