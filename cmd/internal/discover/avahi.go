package discover

import (
	"context"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

// The interface of the Avahi daemon on the system's bus.
const (
	avahiName    = "org.freedesktop.Avahi"
	avahiServer  = "org.freedesktop.Avahi.Server"
	avahiBrowser = "org.freedesktop.Avahi.ServiceBrowser"
	avahiAny     = int32(-1) // any interface, or protocol (AVAHI_IF_UNSPEC, AVAHI_PROTO_UNSPEC)
)

// avahiTimeout is the default time to wait for services.
const avahiTimeout = 500 * time.Millisecond

// maxServices limits the services from Avahi.
const maxServices = 1 << 14

// systemBus is the address of the system bus, unless DBUS_SYSTEM_BUS_ADDRESS is set.
const systemBus = "/run/dbus/system_bus_socket"

// avahi asks the Avahi daemon for services that are announced by multicast DNS. If
// there is no bus or no daemon, it finds nothing.
func (s *search) avahi(ctx context.Context) []netip.AddrPort {
	if !s.known {
		return nil
	}
	timeout, ok := s.parseAvahi()
	if !ok {
		return nil
	}
	address := s.Config.Getenv("DBUS_SYSTEM_BUS_ADDRESS")
	if address == "" {
		if _, err := os.Stat(systemBus); err != nil {
			return nil
		}
		address = "unix:path=" + systemBus
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := dbus.Connect(address, dbus.WithContext(ctx))
	if err != nil {
		return nil
	}
	defer conn.Close()
	var owned bool
	if conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.NameHasOwner", 0, avahiName).Store(&owned) != nil || !owned {
		return nil
	}
	return browse(ctx, conn, "_"+s.service+"._tcp")
}

// parseAvahi reads the mechanism and the variable AVAHI_DISCOVERY_TIMEOUT, which takes
// precedence.
func (s *search) parseAvahi() (timeout time.Duration, ok bool) {
	const prefix = "__pmAvahiDiscoverServices"
	timeout, ok = avahiTimeout, true
	for rest, more := strings.CutPrefix(s.Mechanism, "avahi,"); more; {
		all := rest
		var option string
		option, rest, more = strings.Cut(all, ",")
		value, is := strings.CutPrefix(option, "timeout=")
		if !is {
			s.warnf("%s: option '%s' is not valid", prefix, all)
			ok = false
			continue
		}
		if d, err := ParseTimeout(value); err == nil {
			timeout = d
		} else {
			s.warnf("the timeout argument '%s' is not valid", value)
		}
	}
	if text := s.Config.Getenv("AVAHI_DISCOVERY_TIMEOUT"); text != "" {
		if d, err := ParseTimeout(text); err == nil {
			timeout = d
		} else {
			s.warnf("the timeout argument '%s' is not valid", text)
		}
	}
	return timeout, ok
}

// browse lists the services of a type, until the daemon reports the end of the list or
// ctx ends.
func browse(ctx context.Context, conn *dbus.Conn, service string) []netip.AddrPort {
	signals := make(chan *dbus.Signal, 256)
	conn.Signal(signals)
	// Signals may arrive before the reply that names their browser.
	if conn.AddMatchSignalContext(ctx, dbus.WithMatchInterface(avahiBrowser)) != nil {
		return nil
	}
	server := conn.Object(avahiName, "/")
	var browser dbus.ObjectPath
	err := server.CallWithContext(ctx, avahiServer+".ServiceBrowserNew", 0, avahiAny, avahiAny, service, "local", uint32(0)).Store(&browser)
	if err != nil {
		return nil
	}
	defer conn.Object(avahiName, browser).Go(avahiBrowser+".Free", dbus.FlagNoReplyExpected, nil)
	var found []netip.AddrPort
	for len(found) < maxServices {
		select {
		case <-ctx.Done():
			return found
		case sig, ok := <-signals:
			switch {
			case !ok:
				return found
			case sig.Path != browser:
			case sig.Name == avahiBrowser+".AllForNow" || sig.Name == avahiBrowser+".Failure":
				return found
			case sig.Name == avahiBrowser+".ItemNew":
				if at, ok := resolve(ctx, server, sig.Body); ok {
					found = append(found, at)
				}
			}
		}
	}
	return found
}

// resolve returns the address of a service that ItemNew names.
func resolve(ctx context.Context, server dbus.BusObject, body []any) (at netip.AddrPort, ok bool) {
	var (
		iface, protocol       int32
		name, service, domain string
		flags                 uint32
	)
	if dbus.Store(body, &iface, &protocol, &name, &service, &domain, &flags) != nil {
		return at, false
	}
	call := server.CallWithContext(ctx, avahiServer+".ResolveService", 0, iface, protocol, name, service, domain, avahiAny, uint32(0))
	if call.Err != nil || len(call.Body) < 9 {
		return at, false
	}
	address, isText := call.Body[7].(string)
	port, isPort := call.Body[8].(uint16)
	addr, err := netip.ParseAddr(address)
	return netip.AddrPortFrom(addr, port), isText && isPort && err == nil
}
