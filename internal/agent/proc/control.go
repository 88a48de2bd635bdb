package proc

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// Clusters of controls.
const (
	controlCluster = 10
	hotCluster     = 60
)

// A control is a metric that clients store to select the processes that they see.
type control struct {
	name    string
	cluster int
	item    int
	kind    pcp.Type
	sem     pcp.Sem // 0 means instant
	units   pcp.Units
	help    string // one line
	long    string // in lines of at most 79 bytes
	value   func(a *Agent, client *pmda.Client) pcp.Value
	store   func(a *Agent, client *pmda.Client, v pcp.Value) error
	forRoot bool // only root may store
}

var controls = [...]control{
	{
		name: "proc.control.all.threads", cluster: controlCluster, item: 1, kind: pcp.TypeU32,
		help:  "Whether threads are listed too, for clients that have not chosen: 0 or 1",
		long:  "Any client of which the collector knows the user may store 0 or 1. It holds\nuntil the agent ends. Reading threads costs a directory for each process.",
		value: func(a *Agent, _ *pmda.Client) pcp.Value { return flag(a.threads) },
		store: func(a *Agent, client *pmda.Client, v pcp.Value) error {
			if _, err := a.viewOf(client); err != nil {
				return err
			}
			return setFlag(&a.threads, v)
		},
	},
	{
		name: "proc.control.perclient.threads", cluster: controlCluster, item: 2, kind: pcp.TypeU32,
		help: "Whether threads are listed too, for the client that stores it: 0 or 1",
		long: "It holds until the client disconnects. Before the first store it is the value\nof proc.control.all.threads.",
		value: func(a *Agent, client *pmda.Client) pcp.Value {
			if s := a.clients[client]; s != nil && s.hasThreads {
				return flag(s.threads)
			}
			return flag(a.threads)
		},
		store: func(a *Agent, client *pmda.Client, v pcp.Value) error {
			s := a.settings(client)
			err := setFlag(&s.threads, v)
			s.hasThreads = s.hasThreads || err == nil
			return err
		},
	},
	{
		name: "proc.control.perclient.cgroups", cluster: controlCluster, item: 3, kind: pcp.TypeString,
		help: "Path of the control group whose processes the client that stores it gets",
		long: "The path begins at the root directory, such as /sys/fs/cgroup/user.slice, and\nonly the processes that its cgroup.procs lists are instances of proc. It holds\nuntil the client disconnects.",
		value: func(a *Agent, client *pmda.Client) pcp.Value {
			if s := a.clients[client]; s != nil && s.cgroup != "" {
				return pcp.StringValue(s.cgroup)
			}
			return pcp.StringValue(a.cfg.CGroup)
		},
		store: func(a *Agent, client *pmda.Client, v pcp.Value) error {
			path, ok := v.Text()
			if !ok || path == "" || strings.IndexByte(path, 0) >= 0 || len(path) > maxPath {
				return pcp.ErrBadStore
			}
			a.settings(client).cgroup = filepath.Clean("/" + path)
			return nil
		},
	},
	{
		name: "hotproc.control.refresh", cluster: hotCluster, item: 1, kind: pcp.TypeU32,
		help:    "Seconds over which processes are measured to find those that are hot",
		long:    "Processes are measured when a client asks for hotproc and the interval is over.\nOnly root may store, and not 0.",
		value:   func(a *Agent, _ *pmda.Client) pcp.Value { return pcp.Uint32Value(uint32(a.hot.interval / time.Second)) },
		forRoot: true,
		store: func(a *Agent, _ *pmda.Client, v pcp.Value) error {
			n := v.As(pcp.TypeU32).Uint32()
			if n == 0 {
				return pcp.ErrBadStore
			}
			a.hot.interval = time.Duration(n) * time.Second
			return nil
		},
	},
	{
		name: "hotproc.control.config", cluster: hotCluster, item: 8, kind: pcp.TypeString,
		help: "Predicate that selects the hot processes, such as cpuburn > 0.2",
		long: "It compares cpuburn, iodemand, psargs, uname and others with numbers, strings\nand patterns, with && and || and !. Only root may store. An empty text ends it,\nand a mistake is refused. hotproc.conf has it after a start of the agent.",
		value: func(a *Agent, _ *pmda.Client) pcp.Value {
			if a.hot.predicate == nil {
				return pcp.StringValue("")
			}
			return pcp.StringValue(a.hot.predicate.text)
		},
		forRoot: true,
		store: func(a *Agent, _ *pmda.Client, v pcp.Value) error {
			text, _ := v.Text()
			if err := a.hot.set(text); err != nil {
				return fmt.Errorf("%w: %w", pcp.ErrBadStore, err)
			}
			return nil
		},
	},
	{
		name: "hotproc.control.config_gen", cluster: hotCluster, item: 9, kind: pcp.TypeU32,
		help:  "Predicates there have been, 0 if there is none",
		long:  "It rises with each predicate that is stored, so that a client can see that the\ninstances are others now. It cannot be stored.",
		value: func(a *Agent, _ *pmda.Client) pcp.Value { return pcp.Uint32Value(a.hot.generation) },
		store: func(*Agent, *pmda.Client, pcp.Value) error { return pcp.ErrPermission },
	},
	{
		name: "hotproc.control.reload_config", cluster: hotCluster, item: 10, kind: pcp.TypeU32,
		help:    "Has the file hotproc.conf read again when 1 is stored",
		long:    "Only root may store, and only 1. The value is always 0. A file that all users\nmay write is refused.",
		value:   func(*Agent, *pmda.Client) pcp.Value { return pcp.Uint32Value(0) },
		forRoot: true,
		store: func(a *Agent, _ *pmda.Client, v pcp.Value) error {
			if v.As(pcp.TypeU32).Uint32() != 1 {
				return pcp.ErrBadStore
			}
			return a.hot.load()
		},
	},
}

func flag(on bool) pcp.Value {
	if on {
		return pcp.Uint32Value(1)
	}
	return pcp.Uint32Value(0)
}

func setFlag(on *bool, v pcp.Value) error {
	n := v.As(pcp.TypeU32).Uint32()
	if n > 1 {
		return pcp.ErrBadStore
	}
	*on = n == 1
	return nil
}

// control returns the control with a PMID, or nil.
func (a *Agent) control(id pcp.PMID) *control {
	if c := id.Cluster(); id.Domain() == a.cfg.Domain && (c == controlCluster || c == hotCluster) {
		for i := range controls {
			if controls[i].cluster == c && controls[i].item == id.Item() {
				return &controls[i]
			}
		}
	}
	if id.Domain() == a.cfg.Domain && isAcct(id) {
		for i := range acctControls {
			if acctControls[i].item == id.Item() {
				return &acctControls[i]
			}
		}
	}
	return nil
}

// settings returns the values stored by a client, which the caller may change.
func (a *Agent) settings(client *pmda.Client) *settings {
	s := a.clients[client]
	if s == nil {
		s = new(settings)
		a.clients[client] = s
	}
	return s
}

// Store implements pmda.Storer.
func (a *Agent) Store(_ context.Context, client *pmda.Client, res *pcp.Result) error {
	for _, vs := range res.Sets {
		c := a.control(vs.PMID)
		if c == nil {
			return fmt.Errorf("proc: store into metric %v: %w", vs.PMID, pcp.ErrPermission)
		}
		if uid, ok := client.UserID(); c.forRoot && (!ok || uid != 0) {
			return pcp.ErrPermission
		}
		if len(vs.Values) != 1 {
			return pcp.ErrInst
		}
		if err := c.store(a, client, vs.Values[0]); err != nil {
			return err
		}
	}
	return nil
}
