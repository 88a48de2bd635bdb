package pmcd

import (
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/hostlabels"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// labels are those of the host and of the site. The latter are read from files again
// by reload, and may be used meanwhile.
type labels struct {
	host hostlabels.Host
	dir  string // the site's files
	log  *slog.Logger
	site atomic.Pointer[hostlabels.Site]
}

func newLabels(dir, root string, log *slog.Logger) *labels {
	l := &labels{host: hostlabels.ReadHost(root), dir: dir, log: log}
	l.site.Store(hostlabels.ReadSite(dir, log))
	return l
}

// reload reads the files again, and reports whether the labels have changed.
func (l *labels) reload() bool {
	now := hostlabels.ReadSite(l.dir, l.log)
	old := l.site.Swap(now)
	if now.Set.JSON == old.Set.JSON && slices.Equal(now.Set.Index, old.Set.Index) && now.HashMachine == old.HashMachine {
		return false
	}
	l.log.Info("labels changed", "labels", now.JSON())
	return true
}

// context returns the labels of the host, of the site and, for a client
// that came by a Unix socket, of the user.
func (l *labels) context(client *pmda.Client) ([]pcp.LabelSet, error) {
	set, err := hostlabels.Context(l.host, l.site.Load(), client.Attrs[wire.AttrContainer],
		client.Attrs[wire.AttrUserID], client.Attrs[wire.AttrGroupID])
	if err != nil {
		return nil, err
	}
	return []pcp.LabelSet{set}, nil
}
