package discover

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
)

// The services that can be found.
const (
	PMCD     = "pmcd"     // collectors (PM_SERVER_SERVICE_SPEC)
	PMProxy  = "pmproxy"  // proxies (PM_SERVER_PROXY_SPEC)
	PMWebAPI = "pmwebapi" // old web servers (PM_SERVER_WEBAPI_SPEC)
)

// A kind has the properties of a service.
type kind struct {
	scheme string // of its URL
	ports  string // the variable that names its ports
	port   int    // by default
}

func kindOf(service string) (kind, bool) {
	switch service {
	case PMCD:
		return kind{"pcp", "PMCD_PORT", 44321}, true
	case PMProxy:
		return kind{"proxy", "PMPROXY_PORT", 44322}, true
	case PMWebAPI:
		return kind{"http", "PMWEBAPI_PORT", 44323}, true
	}
	return kind{}, false
}

// maxPorts limits the ports in a variable; if it has more, the default is used.
const maxPorts = 64

// listPorts returns the ports to try.
func (k kind) listPorts(getenv func(string) string) []int {
	var ports []int
	if list := getenv(k.ports); list != "" {
		for word := range strings.SplitSeq(list, ",") {
			n, err := strconv.Atoi(word)
			if err != nil || n < 0 || n > 65535 || len(ports) == maxPorts {
				return []int{k.port}
			}
			if !slices.Contains(ports, n) {
				ports = append(ports, n)
			}
		}
	}
	if len(ports) == 0 {
		return []int{k.port}
	}
	return ports
}

// Options configure a search. The zero value searches by all mechanisms that need no
// argument.
type Options struct {
	// Mechanism selects the search: "avahi", "shell" or "probe=ADDRESS/BITS", each with
	// options after commas as in pmDiscoverServices(3); "" is avahi and shell.
	Mechanism string

	// Resolve replaces addresses by their names, if they have any.
	Resolve bool

	// Config has the settings; nil means those of the process.
	Config *config.Config

	// Warn gets messages about an invalid Mechanism, and about addresses that could not be
	// tried, in the words of the C library. Nil discards them.
	Warn func(msg string)
}

// A search is one call of Services.
type search struct {
	Options
	service string
	kind    kind
	known   bool // kind is
}

func (s *search) warnf(format string, args ...any) {
	if s.Warn != nil {
		s.Warn(fmt.Sprintf(format, args...))
	}
}

// Services returns the URLs of a service in the network, each once. An unknown service
// has no URLs, and a mechanism with invalid options finds nothing. The error is
// EOPNOTSUPP for a mechanism that does not exist.
func Services(ctx context.Context, service string, o Options) ([]string, error) {
	if o.Config == nil {
		o.Config = config.Process()
	}
	s := &search{Options: o, service: service}
	s.kind, s.known = kindOf(service)
	var found []netip.AddrPort
	switch m := o.Mechanism; {
	case m == "":
		found = slices.Concat(s.avahi(ctx), s.shell(ctx))
	case strings.HasPrefix(m, "avahi"):
		found = s.avahi(ctx)
	case strings.HasPrefix(m, "probe"):
		found = s.probe(ctx)
	case strings.HasPrefix(m, "shell"):
		found = s.shell(ctx)
	default:
		return nil, fmt.Errorf("no mechanism is called %q: %w", m, -pcp.Error(syscall.EOPNOTSUPP))
	}
	var urls []string
	for _, at := range found {
		host := at.Addr().String()
		if o.Resolve {
			host = name(ctx, at.Addr())
		}
		if url := s.kind.scheme + "://" + net.JoinHostPort(host, strconv.Itoa(int(at.Port()))); !slices.Contains(urls, url) {
			urls = append(urls, url)
		}
	}
	return urls, nil
}

// nameTimeout limits the time of the name service for one address.
const nameTimeout = 2 * time.Second

// name returns the name of an address, the address itself if it has no name. It asks even if
// ctx has ended: addresses found must be reported.
func name(ctx context.Context, addr netip.Addr) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), nameTimeout)
	defer cancel()
	names, err := net.DefaultResolver.LookupAddr(ctx, addr.String())
	if err != nil || len(names) == 0 {
		return addr.String()
	}
	return strings.TrimSuffix(names[0], ".")
}

// A connection has the options of a mechanism that tries addresses.
type connection struct {
	prefix  string // of messages, the name of the C function
	workers int    // addresses tried at a time
	timeout time.Duration
}

// The defaults of the C library.
const (
	maxWorkers     = 1024 // FD_SETSIZE
	connectTimeout = 20 * time.Millisecond
)

// option reads maxThreads and timeout, and warns about invalid values. Known
// reports whether the option is one of these, ok whether the search can continue.
func (c *connection) option(s *search, option, all string) (known, ok bool) {
	if value, is := strings.CutPrefix(option, "maxThreads="); is {
		n, err := strconv.ParseInt(value, 0, 64)
		switch {
		case err != nil:
			s.warnf("%s: maxThreads value '%s' is not valid", c.prefix, strings.TrimPrefix(all, "maxThreads="))
		case n >= maxWorkers:
			s.warnf("%s: maxThreads value %d must not exceed %d", c.prefix, n, maxWorkers-1)
		case n <= 0:
			s.warnf("%s: maxThreads value %d must be positive", c.prefix, n)
		default:
			c.workers = int(n)
			return true, true
		}
		return true, false
	}
	if value, is := strings.CutPrefix(option, "timeout="); is {
		d, err := ParseTimeout(value)
		if err != nil {
			s.warnf("the timeout argument '%s' is not valid", strings.TrimPrefix(all, "timeout="))
		} else {
			c.timeout = d
		}
		return true, true
	}
	return false, false
}

// maxTimeout is the longest time-out, in seconds.
const maxTimeout = 1e9

// ParseTimeout reads a time-out in seconds, which may have a fraction.
func ParseTimeout(text string) (time.Duration, error) {
	seconds, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a number of seconds", text)
	case seconds != seconds || seconds < 0 || seconds > maxTimeout:
		return 0, fmt.Errorf("%s seconds cannot be waited for", text)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}
