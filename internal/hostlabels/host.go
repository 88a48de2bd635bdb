package hostlabels

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/hostroot"
)

// A Host is the part of the labels of every context that describes this host.
type Host struct{ Name, Domain, Machine string }

// ReadHost asks the system, with the fallbacks of libpcp's labels.c. root is the root directory of the host, "/" or
// where a container has it.
func ReadHost(root string) Host {
	h := Host{Name: "localhost", Domain: "localdomain", Machine: "localmachine"}
	if name, err := hostroot.HostName(root); err == nil {
		h.Name = name
	}
	if b, err := os.ReadFile(hostroot.Path(root, "proc/sys/kernel/domainname")); err == nil {
		if d := strings.TrimSpace(string(b)); d != "" && d != "(none)" {
			h.Domain = d
		}
	}
	if b, err := os.ReadFile(hostroot.Path(root, "etc/machine-id")); err == nil {
		if id := strings.TrimSpace(string(b)); id != "" {
			h.Machine = id
		}
	}
	return h
}

// set returns the labels; hashMachine replaces the machine's identity by a hash
// of it.
func (h Host) set(container string, hashMachine bool) (pcp.LabelSet, error) {
	pairs := []string{"hostname", h.Name, "domainname", h.Domain}
	if hashMachine {
		pairs = append(pairs, "machineid_sha256", fmt.Sprintf("%x", sha256.Sum256([]byte(h.Machine))))
	} else {
		pairs = append(pairs, "machineid", h.Machine)
	}
	if container != "" {
		pairs = append(pairs, "container", container)
	}
	return pcp.StringLabels(pcp.LabelContext, pairs...)
}

// Context returns the labels of a context: those that the administrator set
// and, before them if they have the same names, those of the host and, if both
// numbers are known, of the user.
func Context(h Host, site *Site, container, uid, gid string) (pcp.LabelSet, error) {
	host, err := h.set(container, site.HashMachine)
	if err != nil {
		return pcp.LabelSet{}, err
	}
	sets := []pcp.LabelSet{site.Set, host}
	if uid != "" && gid != "" {
		user, err := pcp.ParseLabels(`{"groupid":`+gid+`,"userid":`+uid+`}`, pcp.LabelContext|pcp.LabelOptional)
		if err != nil {
			return pcp.LabelSet{}, err
		}
		sets = append(sets, user)
	}
	merged, err := pcp.MergeLabels(sets, nil)
	if err == nil && len(merged.Index) > pcp.MaxLabels {
		err = fmt.Errorf("%d labels: %w", len(merged.Index), pcp.ErrTooBig)
	}
	return merged, err
}
