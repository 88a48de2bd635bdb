package pmproxy

import (
	"fmt"
	"strings"
)

// settings are the part of a Config that can change while the server runs. They are replaced
// as a whole, so that a request sees a consistent set.
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

// Reload applies the settings of cfg to new clients and requests. If cfg has a mistake, the
// current settings remain in force.
//
// Listeners, Handlers, Auth, Dial, DialTimeout, Ready, MetricsDir and Log keep the values given to New.
func (s *Server) Reload(cfg Config) error {
	cfg.setDefaults()
	set, err := newSettings(cfg)
	if err != nil {
		return err
	}
	s.now.Store(set)
	return nil
}
