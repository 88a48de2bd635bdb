package up

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/push"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// pushConfigs returns the receivers of --push.
func (set *settings) pushConfigs(env *cli.Env) ([]push.Config, error) {
	if len(set.push) == 0 {
		return nil, nil
	}
	token := ""
	if set.pushToken != "" {
		var err error
		if token, err = push.ReadToken(set.pushToken); err != nil {
			return nil, fmt.Errorf("--push-token-file: %w", err)
		}
	}
	var list []push.Config
	for _, address := range set.push {
		cfg := push.Config{URL: strings.TrimSpace(address), Token: token}
		if u, err := url.Parse(cfg.URL); err == nil && u.Scheme == "https" {
			if cfg.TLS, err = push.TLS(u.Hostname(), env.Config(), env.Getenv); err != nil {
				return nil, err
			}
		}
		list = append(list, cfg)
	}
	// Errors are reported before anything is recorded.
	if _, err := push.NewSender(push.SenderConfig{Receivers: list}); err != nil {
		return nil, fmt.Errorf("--push: %w", err)
	}
	return list, nil
}

// startPush pushes the archives of a directory.
func (r *recording) startPush(dir, host string) (*push.Sender, error) {
	if len(r.set.pushTo) == 0 {
		return nil, nil
	}
	s, err := push.NewSender(push.SenderConfig{
		Dir: dir, Host: host, Receivers: r.set.pushTo,
		Event: func(text string, err error) { r.sent("push: "+text, err) },
	})
	if err == nil {
		s.Start()
	}
	return s, err
}
