package tlsconf

import (
	"crypto/tls"
	"sync/atomic"
)

// A Keeper holds the TLS configuration of a collector, and reads it again when
// certificates were renewed.
type Keeper struct {
	path string
	now  atomic.Pointer[tls.Config]
	base *tls.Config
}

// Keep reads the tls.conf at path. The Keeper is nil if it has no certificate
// for a collector, which then does not offer TLS.
func Keep(path string) (*Keeper, *File, error) {
	k := &Keeper{path: path}
	f, err := ReadFile(path)
	if err != nil || f.CertFile == "" {
		return nil, f, err
	}
	if err := k.load(f); err != nil {
		return nil, f, err
	}
	k.base = k.now.Load().Clone()
	k.base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return k.now.Load(), nil }
	return k, f, nil
}

func (k *Keeper) load(f *File) error {
	cfg, err := f.Server()
	if err != nil {
		return err
	}
	k.now.Store(cfg)
	return nil
}

// Config is for the collector. Each handshake uses the latest files read.
func (k *Keeper) Config() *tls.Config { return k.base }

// Reload reads all files again. If that fails, all stays as it was.
func (k *Keeper) Reload() error {
	f, err := ReadFile(k.path)
	if err != nil {
		return err
	}
	return k.load(f)
}
