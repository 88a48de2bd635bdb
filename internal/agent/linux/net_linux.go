package linux

import (
	"encoding/binary"
	"net/netip"
	"syscall"
)

// inetAddrs asks the kernel for the IPv4 addresses by netlink, as labels: an
// alias has its own label ("eth0:1").
func inetAddrs() []inetAddr {
	b, err := syscall.NetlinkRIB(syscall.RTM_GETADDR, syscall.AF_INET)
	if err != nil {
		return nil
	}
	msgs, err := syscall.ParseNetlinkMessage(b)
	if err != nil {
		return nil
	}
	return parseInetAddrs(msgs)
}

func parseInetAddrs(msgs []syscall.NetlinkMessage) []inetAddr {
	var addrs []inetAddr
	seen := make(map[string]bool)
	for i := range msgs {
		m := &msgs[i]
		if m.Header.Type != syscall.RTM_NEWADDR || len(m.Data) < syscall.SizeofIfAddrmsg || m.Data[0] != syscall.AF_INET {
			continue
		}
		name, addr := "", netip.Addr{}
		for b := m.Data[syscall.SizeofIfAddrmsg:]; len(b) >= syscall.SizeofRtAttr; {
			n, typ := int(binary.NativeEndian.Uint16(b)), binary.NativeEndian.Uint16(b[2:])
			if n < syscall.SizeofRtAttr || n > len(b) {
				break
			}
			v := b[syscall.SizeofRtAttr:n]
			switch typ {
			case syscall.IFA_LOCAL:
				if a, ok := netip.AddrFromSlice(v); ok && a.Is4() {
					addr = a
				}
			case syscall.IFA_LABEL:
				for len(v) > 0 && v[len(v)-1] == 0 {
					v = v[:len(v)-1]
				}
				name = string(v)
			}
			b = b[min(len(b), (n+3)&^3):]
		}
		if name != "" && addr.IsValid() && !seen[name] {
			seen[name] = true
			addrs = append(addrs, inetAddr{name, addr.String()})
		}
	}
	return addrs
}
