package linux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/internal/rootproto"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
)

// A client can look into a container, whose name is an attribute of its
// connection. It then gets the network, the file systems and the host name that the
// container's processes see, and the other values of every client. For this there is a
// second agent with the same tables, which reads on a thread that has entered the
// container's name spaces.

// A Helper knows the first process of each container (pmdaroot(1)).
type Helper interface {
	ProcessID(container string) (int, error)
}

// Scopes of the sources that are read inside a container, by the name space that they
// are read in. The name of the distribution has no scope: as in C it is read from files of the
// host.
const (
	scopeNet    column.Scope = 1 + iota
	scopeSys                 // of mounts: /sys, if it is sysfs
	scopeMounts              // of mounts: the file systems
	scopeUTS                 // the host name
	scopeBoth                // computed from other sources
)

// containerOf is the container that a client looks into, "" for none.
func containerOf(client *pmda.Client) string {
	if client == nil {
		return ""
	}
	return client.Attrs[pmda.AttrContainer]
}

// Attribute implements pmda.AttributeReceiver, so that collectors send the
// attributes of clients to an agent in another process. The attributes come with each
// request.
func (a *Agent) Attribute(context.Context, *pmda.Client, pmda.AttrKey, string) error { return nil }

// maxBoxes is the maximum number of containers in memory.
const maxBoxes = 64

// boxes are the containers that clients look into.
type boxes struct {
	byName map[string]*box
	order  []*box // most recently used last
	silent bool   // the missing helper was logged
}

// A box is a container.
type box struct {
	name   string
	space  string // which name spaces it has
	pid    int
	engine *column.Agent // that reads inside
	host   *host         // the files that it reads
	mounts *procfs.File  // read where /proc may be missing
	busy   chan struct{} // closed when the last reading has ended; nil before the first
}

// path returns the path of a file that each name space has.
func (b *box) path(name string) string {
	if rest, ok := strings.CutPrefix(name, "proc/net/"); ok {
		// proc/net is that of the main thread.
		return "proc/thread-self/net/" + rest
	}
	if name == "proc/self/mounts" {
		return fmt.Sprintf("proc/%d/mounts", b.pid)
	}
	return name
}

// reading reports whether an abandoned reading is still running.
func (b *box) reading() bool {
	if b.busy == nil {
		return false
	}
	select {
	case <-b.busy:
		return false
	default:
		return true
	}
}

// maxInsideFile is the number of bytes read of a file about one device.
const maxInsideFile = 64 << 10

// newBox makes the agent that reads inside a container.
func (a *Agent) newBox(name, space string, pid int) (*box, error) {
	b := &box{name: name, space: space, pid: pid}
	b.host = a.host.inside(b)
	var err error
	b.engine, err = a.Twin(families(b.host)...)
	return b, err
}

// helper returns the helper that knows containers.
func (a *Agent) helper() Helper {
	if a.host.cfg.Helper == nil {
		a.host.cfg.Helper = rootproto.NewClient(rootproto.DefaultPath(config.Process()))
	}
	return a.host.cfg.Helper
}

// inside returns the agent that has just read the sources want in a client's
// container.
func (a *Agent) inside(ctx context.Context, client *pmda.Client, want column.Set) (*column.Agent, error) {
	name := containerOf(client)
	if a.host.root != "/" {
		return nil, fmt.Errorf("linux: container %q: files are not those of this machine: %w", name, pcp.ErrNotConn)
	}
	pid, err := a.helper().ProcessID(name)
	bs := &a.boxes
	switch {
	case errors.Is(err, pcp.ErrNotConn) && !bs.silent:
		bs.silent = true
		a.host.log.Error("containers are unavailable", "err", err)
	case err == nil:
		bs.silent = false
	}
	if err == nil && pid <= 0 {
		err = pcp.ErrNoContainer // it does not run
	}
	if err != nil {
		return nil, fmt.Errorf("linux: container %q: %w", name, err)
	}
	in, err := a.readInside(ctx, name, pid, want)
	if err != nil {
		return nil, fmt.Errorf("linux: container %q, process %d: %w", name, pid, err)
	}
	return in, nil
}

// use marks b as used last, and drops the least recently used container.
func (bs *boxes) use(b *box) {
	if bs.byName == nil {
		bs.byName = make(map[string]*box)
	}
	if old := bs.byName[b.name]; old != nil {
		i := slices.Index(bs.order, old)
		bs.order = slices.Delete(bs.order, i, i+1)
	}
	bs.byName[b.name] = b
	if bs.order = append(bs.order, b); len(bs.order) > maxBoxes {
		delete(bs.byName, bs.order[0].name)
		bs.order = slices.Delete(bs.order, 0, 1)
	}
}
