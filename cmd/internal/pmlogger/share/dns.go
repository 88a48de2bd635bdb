package share

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// A Resolver asks the name service, as *net.Resolver does.
type Resolver interface {
	LookupSRV(ctx context.Context, service, proto, name string) (string, []*net.SRV, error)
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// A Name is a name in the name service for a group of hosts.
type Name struct {
	name string
	port int // 0 for a service, whose records have ports
}

// ParseName parses the name of a service, such as _pmcd._tcp.example.com, or a name with an address for each host, followed by a port
// if it is not that of pmcd: collectors.example.com:44322.
func ParseName(text string) (Name, error) {
	n := Name{text, defaultPort}
	if strings.HasPrefix(text, "_") {
		n.port = 0
		if strings.Contains(text, ":") {
			return n, fmt.Errorf("%q: the records of a service have ports", text)
		}
	} else if name, port, ok := strings.Cut(text, ":"); ok {
		p, err := strconv.ParseUint(port, 10, 16)
		if err != nil || p == 0 {
			return n, fmt.Errorf("%q: want NAME or NAME:PORT", text)
		}
		n = Name{name, int(p)}
	}
	if n.name == "" || len(n.name) > maxAddress || CheckAddress(strings.TrimPrefix(n.name, "_")) != nil {
		return n, fmt.Errorf("%.80q: it is not a name of the name service", text)
	}
	return n, nil
}

// Lookup returns the addresses of the collectors, sorted. Those of a service are its targets (SRV records). If a name has addresses of
// both protocols, those of IPv4 are used, since a host may have one of each.
func (n Name) Lookup(ctx context.Context, r Resolver) ([]string, error) {
	var list []string
	if n.port == 0 {
		_, records, err := r.LookupSRV(ctx, "", "", n.name)
		if err != nil {
			return nil, err
		}
		for _, s := range records {
			address := joinAddress(s.Target, int(s.Port))
			if err := CheckAddress(address); err != nil {
				return nil, fmt.Errorf("%s: %w", n.name, err)
			}
			list = append(list, address)
		}
	} else {
		all, err := r.LookupNetIP(ctx, "ip", n.name)
		if err != nil {
			return nil, err
		}
		for i := range all {
			all[i] = all[i].Unmap().WithZone("")
		}
		if is4 := slices.ContainsFunc(all, netip.Addr.Is4); is4 {
			all = slices.DeleteFunc(all, netip.Addr.Is6)
		}
		for _, a := range all {
			list = append(list, joinAddress(a.String(), n.port))
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) > maxHosts {
		return nil, fmt.Errorf("%s: %d hosts, more than %d", n.name, len(list), maxHosts)
	}
	return list, nil
}

// String returns the name as it was parsed.
func (n Name) String() string {
	if n.port == 0 || n.port == defaultPort {
		return n.name
	}
	return n.name + ":" + strconv.Itoa(n.port)
}
