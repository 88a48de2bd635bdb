package pmproxy

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/conf"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
	"github.com/go-pcp/pcp/internal/peercred"
)

var (
	errNoAuth  = errors.New("authorisation is required")
	errBadAuth = errors.New("authorisation failed")
)

// authorise identifies the sender of a request. An error is the client's; the
// client may try again.
func (w *web) authorise(c *conn, r *http.Request, set *settings) (rest.Peer, error) {
	p := rest.Peer{Local: isLocal(c, r)}
	if tcp, ok := c.Conn.RemoteAddr().(*net.TCPAddr); ok {
		p.Address = tcp.IP.String()
	}
	foreign := crossSite(r)
	authorised := false
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch {
	case strings.EqualFold(scheme, "Bearer") && set.tokens != nil:
		k, err := set.tokens.find(strings.TrimSpace(value))
		if err != nil {
			w.s.lines.log(w.s.log, slog.LevelError, "tokens cannot be read, nobody can use them", "err", err)
		}
		if k.name == "" {
			return p, errBadAuth
		}
		p.User, p.Push = k.name, k.push
		p.Trusted = k.push == nil
		authorised = p.Trusted || strings.HasPrefix(r.URL.Path, pushPrefix)
	case strings.EqualFold(scheme, "Basic") && w.s.cfg.Auth != nil:
		user, password, ok := r.BasicAuth()
		if !ok || !w.passwords.check(user, password) {
			select { // makes guessing slow
			case <-time.After(refusalPause):
			case <-r.Context().Done():
			case <-w.s.closing:
			}
			return p, errBadAuth
		}
		p.User, p.Trusted, authorised = user, !foreign, true
	case c.tls != nil && len(c.tls.ConnectionState().VerifiedChains) > 0:
		p.User = c.tls.ConnectionState().VerifiedChains[0][0].Subject.CommonName
		p.Trusted, authorised = !foreign, true
	}
	if !authorised && set.RequireAuth {
		return p, errNoAuth
	}
	if set.TrustLocal && p.Local && !foreign && ownPeer(c) {
		p.Trusted = true
	}
	_, unix := c.Conn.(*net.UnixConn) // a program that connects by TCP has no known user
	p.Sockets = p.Trusted && (authorised || unix) || set.LendRights
	return p, nil
}

// pushPrefix is the prefix of the paths for pushed archives. A token for a host is for these only.
const pushPrefix = "/logger/"

// ownPeer reports whether the process at the other end of a Unix socket belongs
// to the server's user or root. It reports false for TCP, where the process is
// not known.
func ownPeer(c *conn) bool {
	unix, ok := c.Conn.(*net.UnixConn)
	if !ok {
		return true
	}
	cred, err := peercred.Of(unix)
	return err == nil && (cred.UID == 0 || cred.UID == os.Geteuid())
}

// passwords caches passwords that were right, since checking one is slow by
// design.
type passwords struct {
	auth   Authenticator
	secret [32]byte

	mu   sync.Mutex
	good map[[32]byte]time.Time // value: expiry
}

const (
	passwordLife = 30 * time.Second
	maxPasswords = 1000
)

func (p *passwords) init(auth Authenticator) {
	p.auth = auth
	p.good = map[[32]byte]time.Time{}
	rand.Read(p.secret[:])
}

func (p *passwords) check(user, password string) bool {
	mac := hmac.New(sha256.New, p.secret[:])
	fmt.Fprintf(mac, "%d:%s%s", len(user), user, password)
	key := [32]byte(mac.Sum(nil))
	now := time.Now()
	p.mu.Lock()
	until, ok := p.good[key]
	p.mu.Unlock()
	if ok && now.Before(until) {
		return true
	}
	if p.auth.CheckPassword(user, password) != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.good) >= maxPasswords {
		clear(p.good)
	}
	p.good[key] = now.Add(passwordLife)
	return true
}

// Limits of a token file.
const (
	maxTokenFile = 1 << 20
	minToken     = 16
)

// A tokenFile is a file of bearer tokens, read again when it has changed.
type tokenFile struct {
	path string

	mu    sync.Mutex
	info  fs.FileInfo
	asked time.Time
	list  []token
}

type token struct {
	name   string
	digest [sha256.Size]byte
	push   *rest.PushRight // not nil if it is only for pushing
}

// tokenInterval is the interval between checks of the file.
const tokenInterval = time.Second

func openTokens(path string) (*tokenFile, error) {
	t := &tokenFile{path: path}
	return t, t.read()
}

func (t *tokenFile) read() error {
	f, err := os.Open(t.path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", t.path)
	}
	if info.Mode().Perm()&0o007 != 0 {
		return fmt.Errorf("%s: all users can use it (mode %v); chmod o= it", t.path, info.Mode().Perm())
	}
	b, err := io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	if err != nil {
		return err
	}
	list, err := parseTokens(b)
	if err != nil {
		return fmt.Errorf("%s: %w", t.path, err)
	}
	t.info, t.list = info, list
	return nil
}

// parseTokens parses the text of a token file.
func parseTokens(b []byte) (list []token, err error) {
	if len(b) > maxTokenFile {
		return nil, fmt.Errorf("more than %d bytes", maxTokenFile)
	}
	in := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; in.Scan(); n++ {
		fields := strings.Fields(in.Text())
		if len(fields) == 0 || fields[0][0] == '#' {
			continue
		}
		if len(fields) < 2 {
			return nil, fmt.Errorf("line %d: want a name and a token", n)
		}
		if len(fields[1]) < minToken {
			return nil, fmt.Errorf("line %d: a token of less than %d bytes", n, minToken)
		}
		k := token{name: fields[0], digest: sha256.Sum256([]byte(fields[1]))}
		if k.push, err = parsePush(fields[2:]); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		list = append(list, k)
	}
	return list, in.Err()
}

// parsePush parses the words after a token: push=PATTERN,… and quota=SIZE.
func parsePush(words []string) (*rest.PushRight, error) {
	if len(words) == 0 {
		return nil, nil
	}
	right := new(rest.PushRight)
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch {
		case key == "push" && right.Hosts == nil:
			right.Hosts = strings.Split(value, ",")
			for _, pattern := range right.Hosts {
				if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
					return nil, fmt.Errorf("%q is not a pattern for hosts", pattern)
				}
			}
		case key == "quota" && right.Quota == 0:
			n, err := conf.ParseSize(value)
			if err != nil {
				return nil, err
			}
			right.Quota = n
		default:
			return nil, fmt.Errorf("%q: after a name and a token, want push=HOST or quota=SIZE", word)
		}
	}
	if right.Hosts == nil {
		return nil, errors.New("quota=SIZE is for a token with push=HOST")
	}
	return right, nil
}

// find returns a token, without a name if there is no such token. It returns an error if the
// current file is bad; then no token is accepted.
func (t *tokenFile) find(text string) (found token, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); now.Sub(t.asked) >= tokenInterval {
		t.asked = now
		info, serr := os.Stat(t.path)
		if serr != nil || t.info == nil || !os.SameFile(info, t.info) || !info.ModTime().Equal(t.info.ModTime()) || info.Size() != t.info.Size() || info.Mode() != t.info.Mode() {
			if err = t.read(); err != nil {
				t.info, t.list = nil, nil
			}
		}
	}
	digest := sha256.Sum256([]byte(text))
	for _, k := range t.list { // compare with all, for constant time
		if subtle.ConstantTimeCompare(k.digest[:], digest[:]) == 1 && found.name == "" {
			found = k
		}
	}
	return found, err
}
