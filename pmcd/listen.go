package pmcd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"
)

// A ListenConfig says where to listen. The system bounds how many connections
// may wait to be accepted.
type ListenConfig struct {
	Ports     []int    // none means no TCP; 0 is one that the system chooses, the same for all addresses
	Addresses []string // IP addresses; none means all, of IPv4 and IPv6
	Socket    string   // path of a Unix socket; "" means none
}

// Listen opens the listeners of lc. What cannot be opened is told in the error,
// which joins all problems; the listeners that could be are returned with it.
// A socket that a dead collector left behind is replaced.
func Listen(ctx context.Context, lc ListenConfig) ([]net.Listener, error) {
	var lns []net.Listener
	var errs []error
	open := func(network, address string) error {
		ln, err := new(net.ListenConfig).Listen(ctx, network, address)
		if err == nil {
			lns = append(lns, ln)
		}
		return err
	}
	if lc.Socket != "" {
		if err := listenUnix(lc.Socket, open); err != nil {
			errs = append(errs, err)
		}
	}
	for _, port := range lc.Ports {
		addrs := lc.Addresses
		if len(addrs) == 0 {
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
			err := open(network, net.JoinHostPort(a, strconv.Itoa(port)))
			if err == nil && port == 0 {
				port = lns[len(lns)-1].Addr().(*net.TCPAddr).Port
			}
			if err != nil && len(lc.Addresses) == 0 && network == "tcp6" && errors.Is(err, syscall.EAFNOSUPPORT) {
				continue // a host without IPv6
			}
			if err != nil {
				errs = append(errs, err)
			}
		}
	}
	return lns, errors.Join(errs...)
}

// socketProbe is how long a socket that is in the way has to show life.
const socketProbe = 100 * time.Millisecond

func listenUnix(path string, open func(network, address string) error) error {
	err := open("unix", path)
	if errors.Is(err, syscall.EADDRINUSE) && abandoned(path) {
		if rerr := os.Remove(path); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			return rerr
		}
		err = open("unix", path)
	}
	if err != nil {
		return err
	}
	// Everybody may connect; what he may do then is for access control.
	return os.Chmod(path, 0o666)
}

// abandoned tells whether nobody listens on the socket at path.
func abandoned(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSocket == 0 {
		return false
	}
	conn, err := net.DialTimeout("unix", path, socketProbe)
	if err == nil {
		conn.Close()
		return false
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
