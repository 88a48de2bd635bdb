package pmcd

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/hostlabels"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// contextLabels returns the labels of the host, of the site and, for a client
// that came by a Unix socket, of the user.
func (s *Server) contextLabels(client *pmda.Client) ([]pcp.LabelSet, error) {
	set, err := hostlabels.Context(s.host, s.site.Load(), client.Attrs[wire.AttrContainer],
		client.Attrs[wire.AttrUserID], client.Attrs[wire.AttrGroupID])
	if err != nil {
		return nil, err
	}
	return []pcp.LabelSet{set}, nil
}
