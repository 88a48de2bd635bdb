package pmproxy

import (
	"fmt"
	"strings"
)

// settings are the part of a Config that can change while the server runs. They are replaced
// whole, so that what one request sees belongs together.
type settings struct {
	Config
	headers string // Access-Control-Allow-Headers
	hosts   []string
	tokens  *tokenFile
}

func newSettings(cfg Config) (*settings, error) {
	for _, p := range cfg.Collectors {
		if err := checkPattern(p); err != nil {
			return nil, err
		}
	}
	for _, h := range cfg.AllowHeaders {
		if !isToken(h) {
			return nil, fmt.Errorf("%q cannot be the name of a header", h)
		}
	}
	set := &settings{Config: cfg, hosts: ownHosts(cfg.Hosts)}
	set.headers = strings.Join(append([]string{"Accept", "Accept-Language", "Content-Language", "Content-Type"}, cfg.AllowHeaders...), ", ")
	if cfg.TokenFile != "" {
		var err error
		if set.tokens, err = openTokens(cfg.TokenFile); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// Reload has the server go on with what cfg says, for clients and requests that come from now on.
// If there is a mistake in it, all stays as it was.
//
// Listeners, Handlers, Auth, Dial, DialTimeout, Ready, MetricsDir and Log stay those that the server was made with.
func (s *Server) Reload(cfg Config) error {
	cfg.setDefaults()
	set, err := newSettings(cfg)
	if err != nil {
		return err
	}
	s.now.Store(set)
	return nil
}
