package pmcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/internal/safefile"
)

// A ListenConfig configures the addresses to listen on. The system bounds the
// number of connections that wait to be accepted.
type ListenConfig struct {
	Ports     []int    // none means no TCP; 0 is chosen by the system, the same for all addresses
	Addresses []string // IP addresses; none means all, of IPv4 and IPv6
	Socket    string   // path of a Unix socket; "" means none
	Tries     int      // how often to try an address that is in use, or not there yet; 0 means once
}

// tryAgain is how long Listen waits before it tries an address again.
const tryAgain = 250 * time.Millisecond

// try calls listen up to lc.Tries times, until ctx is done.
func (lc *ListenConfig) try(ctx context.Context, listen func() (net.Listener, error)) (net.Listener, error) {
	for n := 1; ; n++ {
		ln, err := listen()
		busy := errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.EADDRNOTAVAIL)
		if !busy || n >= lc.Tries {
			return ln, err
		}
		if !pacing.Sleep(ctx, tryAgain) {
			return nil, err
		}
	}
}

// Listen opens the listeners of lc. If some cannot be opened, it returns the
// others, and an error that joins all problems. A socket left by a dead
// collector is replaced. If ctx is done, Listen no longer waits for addresses
// that are in use.
func Listen(ctx context.Context, lc ListenConfig) ([]net.Listener, error) {
	var lns []net.Listener
	var errs []error
	for _, port := range lc.Ports {
		more, err := lc.listenPort(ctx, port)
		// A port that is free at one address can be taken at another.
		for try := 0; port == 0 && errors.Is(err, syscall.EADDRINUSE) && try < 100; try++ {
			for _, ln := range more {
				ln.Close()
			}
			more, err = lc.listenPort(ctx, port)
		}
		lns = append(lns, more...)
		if err != nil {
			errs = append(errs, err)
		}
	}
	if lc.Socket != "" {
		// All users may connect; access control decides on their operations.
		ln, err := lc.try(ctx, func() (net.Listener, error) {
			return safefile.Listen(lc.Socket, safefile.SocketMode{Perm: 0o666, Uid: -1, Gid: -1})
		})
		if err != nil {
			errs = append(errs, err)
		} else {
			lns = append(lns, ln)
		}
	}
	return lns, errors.Join(errs...)
}

// listenPort opens a port at the addresses; port 0 means a free port of the first
// address.
func (lc *ListenConfig) listenPort(ctx context.Context, port int) ([]net.Listener, error) {
	addrs := lc.Addresses
	var lns []net.Listener
	var errs []error
	all := len(addrs) == 0
	if all {
		addrs = []string{"0.0.0.0", "::"}
	}
	for _, a := range addrs {
		ip := net.ParseIP(a)
		if ip == nil {
			errs = append(errs, fmt.Errorf("listen on %q: not an IP address", a))
			continue
		}
		network := "tcp6"
		if ip.To4() != nil {
			network = "tcp4"
		}
		config := tcpConfig()
		listen := func() (net.Listener, error) {
			return config.Listen(ctx, network, net.JoinHostPort(a, strconv.Itoa(port)))
		}
		var ln net.Listener
		var err error
		if port == 0 {
			ln, err = listen()
		} else {
			ln, err = lc.try(ctx, listen)
		}
		if err != nil {
			if !all || network != "tcp6" || !errors.Is(err, syscall.EAFNOSUPPORT) { // a host without IPv6
				errs = append(errs, err)
			}
			continue
		}
		lns = append(lns, ln)
		if port == 0 {
			port = ln.Addr().(*net.TCPAddr).Port
		}
	}
	return lns, errors.Join(errs...)
}
