package source

import (
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/wire"
)

// reached has the successful attempt for each host.
type reached struct {
	mu sync.Mutex
	by map[string]attempt
}

// arrived records which collector answered for a host.
func (o *Options) arrived(host string, tried []attempt) {
	for _, a := range tried {
		if a.err != nil {
			continue
		}
		o.reached.mu.Lock()
		if o.reached.by == nil {
			o.reached.by = make(map[string]attempt)
		}
		o.reached.by[host] = a
		o.reached.mu.Unlock()
	}
}

// denied records that a collector has refused a request.
func (o *Options) denied(host string) {
	o.env.Advise(func() string { return o.WhyDenied(host) })
}

// WhyDenied returns why a collector refuses a command's request, such as one for processes, and
// what to do next, in lines.
func (o *Options) WhyDenied(host string) string {
	o.reached.mu.Lock()
	a, ok := o.reached.by[host]
	o.reached.mu.Unlock()
	host = pmapi.HidePassword(host)
	at := host
	if ok {
		at = a.where()
	}
	spec, err := pmapi.ParseHostSpec(host)
	_, named := spec.Attr(wire.AttrUserName)
	if ok && a.network == "unix" || err == nil && named {
		return fmt.Sprintf("the collector at %s does not let this user see or change these metrics", at)
	}
	text := fmt.Sprintf("the collector at %s does not know the user of this command, and so does not let it see or change all that was asked for: single processes, for example.", at)
	for _, r := range o.env.Running() {
		if ok && r.Serves(a.network, a.address) {
			return text + fmt.Sprintf("\nIt knows the users of its socket: use -h %s", r.Host())
		}
	}
	if name, _, err := net.SplitHostPort(a.address); ok && err == nil && (net.ParseIP(name).IsLoopback() || name == "localhost") {
		return text + "\nIt knows the users of its socket: use -h unix:PATH, or -h unix: for that of pmcd"
	}
	name := strings.TrimPrefix(strings.TrimPrefix(host, "pcps://"), "pcp://")
	return text + fmt.Sprintf("\nLog in, if you have an account there (%s help passwd): -h 'pcps://%s?username=NAME'", o.env.Pcp(), name)
}
