package pmda

import (
	"context"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// An Agent answers for the metrics of one domain. Its host makes one call at
// a time, so an agent needs no locks of its own unless it starts goroutines.
//
// Every PMID and InDom that reaches an agent carries the domain it is served
// under, and so must those it returns. An error that is a pcp.Error, or wraps
// one, reaches the client with that code. Any other reaches it as
// pcp.ErrGeneric and is logged.
type Agent interface {
	// Desc returns the descriptor of a metric, or pcp.ErrPMID.
	Desc(ctx context.Context, id pcp.PMID) (pcp.Desc, error)

	// Instances returns the members of an instance domain in the order in
	// which the agent reports them, or pcp.ErrInDom.
	Instances(ctx context.Context, indom pcp.InDom) ([]pcp.Instance, error)

	// Fetch appends to req.Result one set for each of req.PMIDs, in order. An
	// error for one metric goes into its set; a returned error is for all.
	Fetch(ctx context.Context, req *FetchRequest) error
}

// A FetchRequest is one client's request for values.
type FetchRequest struct {
	Client  *Client      // that asks; never nil
	Profile *pcp.Profile // which instances; nil means all
	PMIDs   []pcp.PMID
	// Fetch appends to Result; the collector sets its Time. Result is encoded
	// after Fetch has returned, perhaps while the agent serves the next
	// request, so the bytes of strings and aggregates must never change.
	Result *pcp.Result
}

// A Client is one client context of the collector as agents see it. Agents may
// use the pointer as a key until EndContext.
type Client struct {
	// ID is the context number, unique among the living clients of an agent.
	ID int
	// Attrs holds the connection's attributes that are known, such as
	// AttrContainer; it is not changed once the client has been seen.
	Attrs map[AttrKey]string
}

// An AttrKey names an attribute of a client's connection (PCP_ATTR_*).
type AttrKey = wire.AttrKey

// The attributes that collectors send to their agents.
const (
	AttrUserName  = wire.AttrUserName  // PCP_ATTR_USERNAME: the name that the client gave
	AttrPassword  = wire.AttrPassword  // PCP_ATTR_PASSWORD: a secret; keep it out of logs
	AttrUserID    = wire.AttrUserID    // PCP_ATTR_USERID: decimal; see Client.UserID
	AttrGroupID   = wire.AttrGroupID   // PCP_ATTR_GROUPID: decimal
	AttrProcessID = wire.AttrProcessID // PCP_ATTR_PROCESSID: decimal; of a client on this machine
	AttrContainer = wire.AttrContainer // PCP_ATTR_CONTAINER: the name of a container
)

// UserID returns the number of the client's user, which the collector knows
// from the Unix socket or a log-in; ok is false if the collector did not send
// it (PCP_ATTR_USERID). It is sent only to agents that are an
// [AttributeReceiver] or are served with [ServeOptions.Attributes].
func (c *Client) UserID() (uid int, ok bool) {
	uid, err := strconv.Atoi(c.Attrs[AttrUserID])
	return uid, err == nil && uid >= 0
}

// A Refresher splits Fetch in two, so that one reading of the source serves
// every request that waits for it: Refresh reads the data for the metrics
// ids, and Fetch calls until the next Refresh only copy from it. A
// Refresher's Fetch must not read the source again for metrics that the last
// Refresh covered.
type Refresher interface {
	Refresh(ctx context.Context, ids []pcp.PMID) error
}

// A Preparer has sources that may be slow, such as other machines. Prepare reads, or waits for, what a fetch of
// the metrics ids needs, and must end by itself; Fetch then only copies. Unlike all other calls, Prepare is made by several
// goroutines at once and while other calls run, so that a fetch which waits for a slow source keeps no other
// from its turn. It comes before Refresh. At the end of a pipe, where requests come one by one, it is not
// called more than once at a time.
type Preparer interface {
	Prepare(ctx context.Context, ids []pcp.PMID)
}

// A NameSpacer brings the names of its metrics along. A collector without a
// name-space file uses them; an agent does not need them under a pmcd that has
// one.
type NameSpacer interface {
	NameSpace() *pmns.Tree
}

// A DynamicNamer answers for the names of a dynamic subtree of the name space
// (interface version 4).
type DynamicNamer interface {
	// LookupName returns the PMID of a full name, pcp.ErrName or pcp.ErrNonLeaf.
	LookupName(ctx context.Context, name string) (pcp.PMID, error)
	// Names returns all names of a metric, or pcp.ErrPMID.
	Names(ctx context.Context, id pcp.PMID) ([]string, error)
	// Children returns the children of a node: the next component only, or
	// with traverse set the full names of all leaves below it.
	Children(ctx context.Context, name string, traverse bool) ([]pmns.Child, error)
}

// A Storer accepts new values.
type Storer interface {
	// Store sets values, or returns why it cannot: pcp.ErrPermission,
	// pcp.ErrBadStore, ... It stops at the first error.
	Store(ctx context.Context, client *Client, res *pcp.Result) error
}

// A Texter has help text. ident is a PMID or InDom, depending on kind; only one
// of TextOneLine and TextHelp is set. If there is no text, the error is
// pcp.ErrText.
type Texter interface {
	Text(ctx context.Context, ident uint32, kind pcp.TextKind) (string, error)
}

// An Originator returns the origin of its values, for documentation of a metric.
type Originator interface {
	// Origin returns a file and the name of the metric in it, "" if unknown.
	Origin(id pcp.PMID) string
}

// A Labeler has its own labels: of the domain, an indom, cluster, item, or one
// set for each instance (interface version 7). Having no labels is not an error.
type Labeler interface {
	Labels(ctx context.Context, ident uint32, kind pcp.LabelFlags) ([]pcp.LabelSet, error)
}

// An AttributeReceiver receives the attributes of a client before its first
// request (interface version 6).
type AttributeReceiver interface {
	Attribute(ctx context.Context, client *Client, key AttrKey, value string) error
}

// A ContextEnder is notified that a client has gone (interface version 5). If a
// connection ends on which no client made a request, the notice is about client 0,
// which it does not know.
type ContextEnder interface {
	EndContext(client *Client)
}

// An InstanceLooker answers for one instance without listing all, where the
// agent can do that faster than a scan of Instances.
type InstanceLooker interface {
	LookupInstance(ctx context.Context, indom pcp.InDom, name string) (int32, error)
	InstanceName(ctx context.Context, indom pcp.InDom, inst int32) (string, error)
}

// A Changer is asked after each fetch whether its names or its labels have
// changed since the last time; if so, the collector notifies its clients
// (PMDA_EXT_NAMES_CHANGE, PMDA_EXT_LABEL_CHANGE).
type Changer interface {
	Changes() (names, labels bool)
}
