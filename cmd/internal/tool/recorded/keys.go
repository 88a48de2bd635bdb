package recorded

import (
	"cmp"
	"context"
	"io"
	"net"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/conf"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/keys"
)

// probeTime is the time limit for a server to identify itself.
const probeTime = 2 * time.Second

// KeyConfig returns the key server that options or a configuration name; the options have precedence. It returns false if they name
// none, or if the configuration disables it.
func KeyConfig(file *conf.File, host, port string) (keys.Config, bool) {
	cfg := keys.Config{
		Servers: file.KeyServers, Username: file.KeyUser, Password: file.KeyPassword,
		MaxLen: file.KeyMaxLen, Expire: file.KeyExpire, ScanCount: file.KeyCount,
	}
	if host != "" || port != "" {
		cfg.Servers = []string{net.JoinHostPort(cmp.Or(host, "localhost"), cmp.Or(port, "6379"))}
	}
	return cfg, len(cfg.Servers) > 0 && !file.NoKeys
}

// Answering reports whether one of some servers answers in the protocol of key servers. To an HTTP server the request is an invalid
// request line.
func Answering(ctx context.Context, servers ...string) bool {
	for _, address := range servers {
		if _, _, err := net.SplitHostPort(address); err != nil {
			address = net.JoinHostPort(strings.Trim(address, "[]"), "6379")
		}
		if answers(ctx, address) {
			return true
		}
	}
	return false
}

func answers(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return false // the next request returns the error
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(probeTime))
	if _, err := io.WriteString(c, "PING\r\n"); err != nil {
		return false
	}
	var first [1]byte
	_, err = io.ReadFull(c, first[:])
	return err == nil && (first[0] == '+' || first[0] == '-')
}
