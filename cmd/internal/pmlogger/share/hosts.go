package share

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/objects"
	"github.com/go-pcp/pcp/internal/pacing"
)

// Times of registrations.
const (
	// RegisterEvery is the interval at which a host renews its registration.
	RegisterEvery = 5 * time.Minute
	// RegisterExpire is the time after which a registration that was not renewed expires.
	RegisterExpire = 3 * RegisterEvery
	// registerForget is the time after which it is removed.
	registerForget = 24 * time.Hour
	// registerRetry is the time after which a failed renewal is tried again.
	registerRetry = 10 * time.Second
	// maxListStep is the longest time between two lists that counts for the age of a registration.
	maxListStep = RegisterEvery / 2
)

// defaultPort is the port of pmcd.
const defaultPort = 44321

// maxAddress is the maximum length of an address.
const maxAddress = 300

// CheckAddress returns an error if a text is not the address of a collector, HOST or HOST:PORT.
func CheckAddress(address string) error {
	host, err := address, error(nil)
	if port := ""; strings.Contains(address, "]:") || strings.Count(address, ":") == 1 {
		if host, port, err = net.SplitHostPort(address); err == nil {
			if n, e := strconv.ParseUint(port, 10, 16); e != nil || n == 0 {
				err = fmt.Errorf("port %q is not a number from 1 to 65535", port)
			}
		}
	}
	bad := strings.ContainsFunc(host, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-._:[]", r))
	})
	switch {
	case err != nil:
	case len(address) > maxAddress:
		err = fmt.Errorf("it has more than %d characters", maxAddress)
	case strings.Trim(host, "[]:.-_") == "" || bad:
		err = errors.New("want HOST or HOST:PORT")
	}
	if err != nil {
		return fmt.Errorf("address %.80q: %w", address, err)
	}
	return nil
}

// join returns the address of a collector; the default port is left out.
func joinAddress(host string, port int) string {
	host = strings.TrimSuffix(host, ".")
	switch {
	case port != defaultPort:
		return net.JoinHostPort(host, strconv.Itoa(port))
	case strings.Contains(host, ":"):
		return "[" + host + "]"
	}
	return host
}

// A Registration makes a host known to the recorders of a fleet: it keeps a file named after the address of its collector.
type Registration struct {
	Store   Store
	Address string // see CheckAddress
	// Event, if not nil, is called with failures, once for several in a row, and with nil when it works, again or for the first time.
	Event func(err error)
}

// A registrant is the contents of a registration. Readers need only its name, so it has no version.
type registrant struct {
	Address string `json:"address"`
	Process string `json:"process"`
	N       uint64 `json:"renewal"`
}

// Run registers the host until ctx is done, and then removes the registration.
func (r *Registration) Run(ctx context.Context) error {
	if err := CheckAddress(r.Address); err != nil {
		return err
	}
	file := registrant{Address: r.Address, Process: rand.Text()}
	name, version, bad, first := hosts+"/"+url.PathEscape(r.Address), "", false, true
	for {
		file.N++
		b, err := json.Marshal(&file)
		if err != nil {
			return err
		}
		request(ctx, func(ctx context.Context) error {
			version, err = r.write(ctx, name, append(b, '\n'), version)
			return err
		})
		if ctx.Err() == nil && r.Event != nil && (first || (err != nil) != bad) {
			r.Event(err)
		}
		bad, first = err != nil, false
		wait := RegisterEvery
		if bad {
			wait = registerRetry
		}
		if !pacing.Sleep(ctx, wait) {
			break
		}
	}
	if bad && version == "" && file.N > 1 {
		return nil // it was never written
	}
	return request(context.WithoutCancel(ctx), func(ctx context.Context) error {
		data, _, err := r.Store.Read(ctx, name)
		var now registrant
		if err == nil && json.Unmarshal(data, &now) == nil && now.Process == file.Process { // otherwise another process has registered the host
			err = r.Store.Remove(ctx, name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	})
}

// write writes the file in place of a version, or of that of an earlier process.
func (r *Registration) write(ctx context.Context, name string, data []byte, old string) (version string, err error) {
	if old == "" {
		version, err = r.Store.Create(ctx, name, data)
	} else {
		version, err = r.Store.Replace(ctx, name, data, old)
	}
	if !errors.Is(err, objects.ErrConflict) {
		return cmp.Or(version, old), err
	}
	_, now, err := r.Store.Read(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		version, err = r.Store.Create(ctx, name, data)
	case err == nil:
		version, err = r.Store.Replace(ctx, name, data, now)
	}
	return cmp.Or(version, old), err
}

// request makes a request, which has a time limit.
func request(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	return do(ctx)
}

// A Registry lists the registered hosts.
type Registry struct {
	Store Store

	seen   map[string]*registered
	looked time.Time
}

// A registered has the state of a registration.
type registered struct {
	version string
	age     time.Duration // for which it has had the version, while the store answered
}

// List returns the addresses of the registered hosts, sorted. It should be called at least every [RegisterEvery], since a registration
// expires if it stays the same for [RegisterExpire].
func (r *Registry) List(ctx context.Context) ([]string, error) {
	var entries []objects.Entry
	err := request(ctx, func(ctx context.Context) (err error) {
		entries, err = r.Store.List(ctx, hosts)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(entries) > maxHosts {
		return nil, fmt.Errorf("%d hosts are registered, more than %d", len(entries), maxHosts)
	}
	now := time.Now()
	step := min(now.Sub(r.looked), maxListStep)
	r.looked = now
	seen := make(map[string]*registered, len(entries))
	var list []string
	for _, e := range entries {
		address, err := url.PathUnescape(e.Name)
		if e.Dir || err != nil || CheckAddress(address) != nil {
			continue
		}
		version := e.Version
		if version == "" { // on a file system
			version = fmt.Sprint(e.Time.UnixNano(), e.Size)
		}
		l := r.seen[e.Name]
		if l == nil || l.version != version {
			l = &registered{version: version}
		} else {
			l.age += step
		}
		seen[e.Name] = l
		if l.age < RegisterExpire {
			list = append(list, address)
		} else if l.age >= registerForget {
			request(ctx, func(ctx context.Context) error { return r.Store.Remove(ctx, hosts+"/"+e.Name) }) // again next time
		}
	}
	r.seen = seen
	slices.Sort(list)
	return list, nil
}
