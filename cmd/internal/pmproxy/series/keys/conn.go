package keys

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/valkey-io/valkey-go"
)

// Defaults and limits.
const (
	DefaultServer = "localhost:6379"
	DefaultMaxLen = 8640           // values of a series
	DefaultExpire = 24 * time.Hour // after the last value of a series

	versionKey    = "pcp:version:schema"
	schemaVersion = "2"
	minServer     = 5 // first version of Redis with streams

	connectTimeout = 5 * time.Second
	commandTimeout = time.Minute
	bufferSize     = 64 << 10 // of a connection
	maxInfo        = 1 << 20  // bytes of an answer to INFO
)

// ErrSchema is the error for a key server whose keys are of another version of the schema.
var ErrSchema = errors.New("unsupported series schema")

// A Config configures a Store.
type Config struct {
	// Servers are addresses of a server, or of nodes of a cluster, as HOST:PORT or HOST. Nil means DefaultServer.
	Servers []string

	Username, Password string

	// MaxLen is about how many values of a series are kept, 0 for DefaultMaxLen. Expire is the time without new values after
	// which the values of a series are removed, 0 for DefaultExpire.
	MaxLen int64
	Expire time.Duration

	// ScanCount is how many strings are asked for at once, 0 for 256.
	ScanCount int

	// Log receives changes of the connection and errors of archives; nil discards them.
	Log *slog.Logger
}

// addresses returns the servers with their ports.
func (c *Config) addresses() []string {
	var list []string
	for _, s := range c.Servers {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(s); err != nil {
			s = net.JoinHostPort(strings.Trim(s, "[]"), "6379")
		}
		list = append(list, s)
	}
	if len(list) == 0 {
		list = []string{DefaultServer}
	}
	return list
}

// options returns the options of a connection.
func (c *Config) options(addresses ...string) valkey.ClientOption {
	return valkey.ClientOption{
		InitAddress: addresses, Username: c.Username, Password: c.Password,
		Dialer:           net.Dialer{Timeout: connectTimeout},
		DialCtxFn:        guarded,
		ConnWriteTimeout: commandTimeout, ReadBufferEachConn: bufferSize, WriteBufferEachConn: bufferSize,
		// What Redis 5 has suffices.
		AlwaysRESP2: true, DisableCache: true, ClientSetInfo: valkey.DisableClientSetInfo, PipelineMultiplex: -1,
	}
}

// dial connects to the server or cluster, and checks its version and that of the keys.
func dial(ctx context.Context, cfg *Config) (valkey.Client, error) {
	addresses := cfg.addresses()
	c, err := valkey.NewClient(cfg.options(addresses...))
	if err != nil {
		if len(addresses) > 1 && strings.Contains(err.Error(), "cluster support disabled") {
			err = errors.New("several servers are configured, but they are not a cluster")
		}
		return nil, fmt.Errorf("key server %s: %w", strings.Join(addresses, ","), err)
	}
	if err := check(ctx, c); err != nil {
		c.Close()
		return nil, fmt.Errorf("key server %s: %w", strings.Join(addresses, ","), err)
	}
	return c, nil
}

// check compares the versions of a server and its keys.
func check(ctx context.Context, c valkey.Client) error {
	info, err := c.Do(ctx, c.B().Info().Section("server").Build()).ToString()
	if err != nil {
		return err
	}
	if text, ok := infoField(info, "redis_version"); ok {
		major, _, _ := strings.Cut(text, ".")
		if n, err := strconv.Atoi(major); err != nil || n < minServer {
			return fmt.Errorf("unsupported server of version %q, want %d or above", text, minServer)
		}
	}
	text, err := c.Do(ctx, c.B().Get().Key(versionKey).Build()).ToString()
	switch {
	case valkey.IsValkeyNil(err), err == nil && text == "0": // no keys yet
		return nil
	case err != nil:
		return err
	case text != schemaVersion:
		return fmt.Errorf("%w of version %.16q, want %s", ErrSchema, text, schemaVersion)
	}
	return nil
}

// mark writes the version of the keys. Only writers do, so that a server that is asked by mistake keeps its contents.
func (s *Store) mark(ctx context.Context) error {
	if s.marked.Load() {
		return nil
	}
	if err := s.client.Do(ctx, s.client.B().Set().Key(versionKey).Value(schemaVersion).Build()).Error(); err != nil {
		return s.failed(versionKey, err)
	}
	s.marked.Store(true)
	return nil
}

// infoField returns a field of an answer to INFO.
func infoField(info, name string) (string, bool) {
	if len(info) > maxInfo {
		return "", false
	}
	for line := range strings.Lines(info) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}
