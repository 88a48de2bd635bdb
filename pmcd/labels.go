package pmcd

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// hostLabels are what every context says about this host.
type hostLabels struct{ host, domain, machine string }

// readHostLabels asks the system, with the fallbacks of libpcp's labels.c.
func readHostLabels() hostLabels {
	l := hostLabels{host: "localhost", domain: "localdomain", machine: "localmachine"}
	if name, err := os.Hostname(); err == nil {
		l.host = name
	}
	if b, err := os.ReadFile("/proc/sys/kernel/domainname"); err == nil {
		if d := strings.TrimSpace(string(b)); d != "" && d != "(none)" {
			l.domain = d
		}
	}
	if b, err := os.ReadFile("/etc/machine-id"); err == nil {
		if id := strings.TrimSpace(string(b)); id != "" {
			l.machine = id
		}
	}
	return l
}

// set returns the labels; hashMachine has the machine's identity told as a
// hash of it.
func (l hostLabels) set(container string, hashMachine bool) (pcp.LabelSet, error) {
	pairs := []string{"hostname", l.host, "domainname", l.domain}
	if hashMachine {
		pairs = append(pairs, "machineid_sha256", fmt.Sprintf("%x", sha256.Sum256([]byte(l.machine))))
	} else {
		pairs = append(pairs, "machineid", l.machine)
	}
	if container != "" {
		pairs = append(pairs, "container", container)
	}
	return pcp.StringLabels(pcp.LabelContext, pairs...)
}

// contextLabels are those that the administrator set and, before them if
// they have the same names, those of the host and, for who came by a Unix
// socket, of the user.
func (s *Server) contextLabels(client *pmda.Client) ([]pcp.LabelSet, error) {
	site := s.site.Load()
	host, err := s.host.set(client.Attrs[wire.AttrContainer], site.hashMachine)
	if err != nil {
		return nil, err
	}
	sets := []pcp.LabelSet{site.set, host}
	uid, gid := client.Attrs[wire.AttrUserID], client.Attrs[wire.AttrGroupID]
	if uid != "" && gid != "" {
		user, err := pcp.ParseLabels(`{"groupid":`+gid+`,"userid":`+uid+`}`, pcp.LabelContext|pcp.LabelOptional)
		if err != nil {
			return nil, err
		}
		sets = append(sets, user)
	}
	merged, err := pcp.MergeLabels(sets, nil)
	if err != nil {
		return nil, err
	}
	if len(merged.Labels) > pcp.MaxLabels {
		return nil, fmt.Errorf("%d labels: %w", len(merged.Labels), pcp.ErrTooBig)
	}
	return []pcp.LabelSet{merged}, nil
}

// domainLabels are those of an agent without labels of its own.
func domainLabels(agent string) ([]pcp.LabelSet, error) {
	set, err := pcp.StringLabels(pcp.LabelDomain, "agent", agent)
	if err != nil {
		return nil, err
	}
	return []pcp.LabelSet{set}, nil
}
