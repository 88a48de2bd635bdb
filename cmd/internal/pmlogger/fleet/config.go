package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"sync"
	"time"
	"weak"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/conf"
	"github.com/go-pcp/pcp/pmapi"
)

// A Configure returns the configuration for recording a host, in the language of package conf,
// after the preprocessor, and its name for messages. c is a context on the host. It can be called
// for many hosts at the same time.
type Configure func(ctx context.Context, c *pmapi.Context, h Host) (text []byte, name string, err error)

// Static returns a Configure with the same configuration for all hosts.
func Static(text []byte, name string) Configure {
	return func(context.Context, *pmapi.Context, Host) ([]byte, string, error) { return text, name, nil }
}

// parsed caches the configurations in use, so that hosts with equal ones share one.
type parsed struct {
	mu sync.Mutex
	m  map[parsedKey]weak.Pointer[conf.Config]
}

type parsedKey struct {
	text     [sha256.Size]byte
	name     string
	interval time.Duration
}

// get returns the parsed configuration, parsing it unless it is cached.
func (p *parsed) get(text []byte, name string, interval time.Duration) (*conf.Config, error) {
	key := parsedKey{sha256.Sum256(text), name, interval}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.m[key].Value(); c != nil {
		return c, nil
	}
	c, err := conf.Read(bytes.NewReader(text), name, interval)
	if err != nil {
		return nil, err
	}
	if p.m == nil {
		p.m = make(map[parsedKey]weak.Pointer[conf.Config])
	}
	for k, c := range p.m {
		if c.Value() == nil {
			delete(p.m, k)
		}
	}
	p.m[key] = weak.Make(c)
	return c, nil
}
