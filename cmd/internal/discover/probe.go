package discover

import (
	"context"
	"errors"
	"iter"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/internal/pacing"
)

// probe tries all addresses of a subnet: "probe=ADDRESS/BITS" and options.
func (s *search) probe(ctx context.Context) []netip.AddrPort {
	c := connection{prefix: "__pmSubnetProbeDiscoverServices", workers: maxWorkers, timeout: connectTimeout}
	subnet, ok := s.parseProbe(&c)
	if !ok {
		return nil
	}
	if !s.known {
		s.warnf("%s: could not find ports for service '%s'", c.prefix, s.service)
		return nil
	}
	ports := s.kind.listPorts(s.Config.Getenv)
	return s.connect(ctx, &c, func(yield func(netip.AddrPort) bool) {
		for addr := subnet.Masked().Addr(); addr.IsValid() && subnet.Contains(addr); addr = addr.Next() {
			for _, port := range ports {
				if !yield(netip.AddrPortFrom(addr, uint16(port))) {
					return
				}
			}
		}
	})
}

// parseProbe reads the mechanism.
func (s *search) parseProbe(c *connection) (subnet netip.Prefix, ok bool) {
	_, arg, _ := strings.Cut(s.Mechanism, "=")
	if arg == "" {
		s.warnf("%s: No argument provided", c.prefix)
		return subnet, false
	}
	address, mask, _ := strings.Cut(arg, "/")
	if mask == "" {
		s.warnf("%s: No subnet mask provided", c.prefix)
		return subnet, false
	}
	addr, err := netip.ParseAddr(address)
	if err != nil || addr.Zone() != "" {
		s.warnf("%s: Address '%s' is not valid", c.prefix, address)
		return subnet, false
	}
	number, rest, more := strings.Cut(mask, ",")
	bits, err := strconv.ParseInt(number, 0, 32)
	switch {
	case err != nil:
		s.warnf("%s: Subnet mask '%s' is not valid", c.prefix, mask)
		return subnet, false
	case bits < 0:
		s.warnf("%s: Inet subnet mask must be >= 0 bits", c.prefix)
		return subnet, false
	case bits > int64(addr.BitLen()):
		s.warnf("%s: Inet subnet mask must be <= %d bits", c.prefix, addr.BitLen())
		return subnet, false
	}
	ok = true
	for more {
		all := rest
		if all == "" {
			s.warnf("%s: Missing option after ','", c.prefix)
			return subnet, false
		}
		var option string
		option, rest, more = strings.Cut(all, ",")
		known, well := c.option(s, option, all)
		if !known {
			s.warnf("%s: option '%s' is not valid", c.prefix, all)
		}
		ok = ok && well
	}
	return netip.PrefixFrom(addr, int(bits)), ok
}

// retries and retryAfter set how often, and after how long, an address without a file
// descriptor is tried again.
const (
	retries    = 50
	retryAfter = 100 * time.Millisecond
)

// connect tries addresses, many at a time, until all are tried or ctx ends. It returns
// those where a connection was accepted, in the order of the addresses.
func (s *search) connect(ctx context.Context, c *connection, all iter.Seq[netip.AddrPort]) []netip.AddrPort {
	type hit struct {
		n    int
		addr netip.AddrPort
	}
	var (
		mu   sync.Mutex
		hits []hit
		wg   sync.WaitGroup
	)
	slots := make(chan struct{}, c.workers)
	n := 0
	for addr := range all {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		at := hit{n, addr}
		n++
		wg.Go(func() {
			defer func() { <-slots }()
			if s.accepts(ctx, c, at.addr) {
				mu.Lock()
				hits = append(hits, at)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.SortFunc(hits, func(a, b hit) int { return a.n - b.n })
	var found []netip.AddrPort
	for _, h := range hits {
		found = append(found, h.addr)
	}
	return found
}

// accepts reports whether a connection to an address is accepted in time.
func (s *search) accepts(ctx context.Context, c *connection, addr netip.AddrPort) bool {
	for range retries {
		conn, err := (&net.Dialer{Deadline: time.Now().Add(c.timeout), KeepAlive: -1}).DialContext(ctx, "tcp", addr.String())
		switch {
		case err == nil:
			conn.Close()
			return true
		case !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE):
			return false
		}
		if !pacing.Sleep(ctx, retryAfter) {
			return false
		}
	}
	s.warnf("%s: Cannot create socket for address %s", c.prefix, addr.Addr())
	return false
}
