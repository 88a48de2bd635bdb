package pmapi

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// A source answers the requests of one Context, one at a time except for close
// and dup. A collector, archives and agents in the process are sources; the
// features that every context has are layered over them, see overlay.go. A
// source knows nothing of its Context: a request has all it needs.
type source interface {
	nameSpace

	kind() SourceKind
	location() Location
	// namesIn returns the names of t, for use instead of the source's own.
	namesIn(t *pmns.Tree) nameSpace

	// descs fills descs as lookupNames fills ids.
	descs(ctx context.Context, ids []pcp.PMID, descs []pcp.Desc) error
	text(ctx context.Context, ident uint32, kind pcp.TextKind) (string, error)
	// labels uses the profile for instance labels only.
	labels(ctx context.Context, p profile, kind pcp.LabelFlags, ident uint32) ([]pcp.LabelSet, error)
	// instances returns one instance by number or by name, or all, as in
	// wire.InstanceReq.
	instances(ctx context.Context, indom pcp.InDom, inst int32, name string) ([]pcp.Instance, error)

	// fetch fills res. Unless keep is true its values may point into memory
	// that the next call overwrites. For no ids an archive that is read by
	// records moves to the next one.
	fetch(ctx context.Context, p profile, ids []pcp.PMID, res *pcp.Result, keep bool) (Changes, error)
	// nextOf is ArchiveContext.FetchArchiveOf, pcp.ErrNotArchive elsewhere.
	nextOf(ctx context.Context, ids []pcp.PMID, res *pcp.Result) error
	store(ctx context.Context, res *pcp.Result) error

	hostName(ctx context.Context, p profile) (string, error)
	timeZone(ctx context.Context, p profile) (string, error)

	reconnect(ctx context.Context) error
	// dup returns a source without the layers over this one.
	dup(ctx context.Context) (source, error)
	archive() *recording                                                // nil if it is not on archives
	ahead(ctx context.Context, descs []pcp.Desc, labelsOnly bool) error // Context.Ahead
	rest()                                                              // Context.Rest
	pduCounts() (sent, received PDUCounts)
	close() error
}

// A nameSpace answers for names.
type nameSpace interface {
	// lookupNames fills ids, all PMIDNull before, with the PMID of each name.
	// The error is that of the first without one.
	lookupNames(ctx context.Context, names []string, ids []pcp.PMID) error
	names(ctx context.Context, id pcp.PMID) ([]string, error)
	children(ctx context.Context, name string) ([]pmns.Child, error)
	// leaves returns the names found before an error along with it.
	leaves(ctx context.Context, name string) ([]string, error)
}

// A profile is that of a context at the time of a request.
type profile struct {
	*pcp.Profile        // never changes
	gen          uint64 // counts the changes up to this one, from 1
}

// A SourceKind is the kind of source that a MetricSpec names. The numbers are
// those of pmMetricSpec.isarch.
type SourceKind int

// Kinds of sources.
const (
	SourceHost    SourceKind = 0 // a collector
	SourceArchive SourceKind = 1 // an archive
	SourceLocal   SourceKind = 2 // agents in the process itself
)

// A Location is the place where a context looks up names.
type Location int

// Locations (PMNS_*).
const (
	PMNSLocal   Location = 1 // PMNS_LOCAL: in a name space of UseNameSpace, or of agents in the process
	PMNSRemote  Location = 2 // PMNS_REMOTE: at the collector
	PMNSArchive Location = 3 // PMNS_ARCHIVE: in the archive
)

// nameError adds the name to err.
func nameError(name string, err error) error { return fmt.Errorf("%s: %w", name, err) }

// Changes are the collector's state bits that a fetch can bring (PMCD_*).
type Changes = wire.State

// State bits.
const (
	AddAgent     = wire.AddAgent     // PMCD_ADD_AGENT
	RestartAgent = wire.RestartAgent // PMCD_RESTART_AGENT
	DropAgent    = wire.DropAgent    // PMCD_DROP_AGENT
	LabelChange  = wire.LabelChange  // PMCD_LABEL_CHANGE
	NamesChange  = wire.NamesChange  // PMCD_NAMES_CHANGE
	AgentChange  = wire.AgentChange  // PMCD_AGENT_CHANGE
)

// selection returns the profile as agents want it: nil for all instances.
func (p profile) selection() *pcp.Profile {
	if p.IsAll() {
		return nil
	}
	return p.Profile
}

// errClosed is the error of requests of a closed source.
var errClosed = fmt.Errorf("context is closed: %w", pcp.ErrNoContext)
