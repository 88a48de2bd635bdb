package linux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/internal/rootproto"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// A client can look into a container, whose name is an attribute of its
// connection. It then sees the network, the file systems and the host name that
// the container's processes see, and all else as everybody. What it sees is
// read by an agent of its own, with the same tables, on a thread that has
// entered the container's name spaces.

// A Helper knows which process a container's first one is (pmdaroot(1)).
type Helper interface {
	ProcessID(container string) (int, error)
}

// Sources that are read inside a container, by the name space that they are
// read in.
const (
	sourcesOfNet = 1<<sourceNetDev | 1<<sourceNetInet | 1<<sourceNetInet6 | 1<<sourceSNMP | 1<<sourceNetstat |
		1<<sourceSNMP6 | 1<<sourceSockstat | 1<<sourceTCP | 1<<sourceTCP6 | 1<<sourceUDP | 1<<sourceRaw | 1<<sourceUnix
	sourcesOfSys = 1<<sourceNetMTU | 1<<sourceNetSpeed | 1<<sourceNetDuplex | 1<<sourceNetFlags | 1<<sourceNetType |
		1<<sourceNetWireless | 1<<sourceNetVirtual | 1<<sourceNetHW
	sourcesOfMounts = 1<<sourceMounts | 1<<sourceFilesys | 1<<sourceTmpfs
	sourcesOfUTS    = 1 << sourceUname
	sourcesOfBoth   = 1 << sourceNetAddr // made of what was read

	insideSources sources = sourcesOfNet | sourcesOfSys | sourcesOfMounts | sourcesOfUTS | sourcesOfBoth
)

// isInside tells whether a block is filled inside a container. What the host's
// distribution is is found in files of the host, as in C.
func isInside(b blockID) bool { return blockSpecs[b].from&insideSources != 0 && b != blockDistro }

// containerOf is the container that a client looks into, "" for none.
func containerOf(client *pmda.Client) string {
	if client == nil {
		return ""
	}
	return client.Attrs[wire.AttrContainer]
}

// Attribute implements pmda.AttributeReceiver, so that collectors tell agents
// in other processes who their clients are. What they tell comes with each
// request.
func (a *Agent) Attribute(context.Context, *pmda.Client, wire.AttrKey, string) error { return nil }

// maxBoxes is how many containers are remembered.
const maxBoxes = 64

// boxes are the containers that clients look into.
type boxes struct {
	byName map[string]*box
	order  []*box // those used last at the end
	silent bool   // that there is no helper was logged
	// numbers of instances, which are the same for all
	net, addr, devices, tmpfs *numbers
}

// A box is a container.
type box struct {
	name  string
	space string // which name spaces it has
	pid   int
	agent *Agent        // that reads inside
	busy  chan struct{} // closed when the last reading has ended; nil before the first
}

// path is where a file is read of which there is one for each name space.
func (b *box) path(name string) string {
	if rest, ok := strings.CutPrefix(name, "proc/net/"); ok {
		// proc/net leads to the main thread's.
		return "proc/thread-self/net/" + rest
	}
	if name == "proc/self/mounts" {
		return fmt.Sprintf("proc/%d/mounts", b.pid)
	}
	return name
}

// reading tells whether a reading has not ended, which was given up.
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

// maxInsideFile is the most that is read of a file about one device.
const maxInsideFile = 64 << 10

// newBox makes the agent that reads inside a container.
func (a *Agent) newBox(name, space string, pid int) *box {
	bs := &a.boxes
	if bs.net == nil {
		share := func(r *registry) *numbers {
			r.shared = &numbers{ids: make(map[string]int32)}
			for _, name := range r.names {
				r.shared.id([]byte(name), nil)
			}
			return r.shared
		}
		bs.net, bs.addr = share(&a.net.names), share(&a.netAddr.names)
		bs.devices, bs.tmpfs = share(&a.mounts.devices), share(&a.mounts.tmpfs)
	}
	b := &box{name: name, space: space, pid: pid}
	in := &Agent{
		cfg: a.cfg, root: a.root, domain: a.domain, hz: a.hz, page: a.page, log: a.log,
		metrics: a.metrics, index: a.index, keys: a.keys, filled: a.filled, box: b,
	}
	in.cfg.Replaced = true // files are opened for each reading, and always the right ones
	in.devices = procfs.Pool{Size: procfs.MaxSize}
	for i := range numBlocks {
		in.blocks[i].cols = a.blocks[i].cols
		if !blockSpecs[i].multi {
			in.blocks[i].single()
		}
	}
	in.readers = newReaders(in)
	in.net.names.shared, in.netAddr.names.shared = bs.net, bs.addr
	in.mounts.devices.shared, in.mounts.tmpfs.shared = bs.devices, bs.tmpfs
	// This one stays open within a reading: it is found by the host's /proc, and
	// read where there may be none.
	in.mounts.file = procfs.NewFile(in.path("proc/self/mounts"))
	b.agent = in
	return b
}

// helper is whom to ask for containers.
func (a *Agent) helper() Helper {
	if a.cfg.Helper == nil {
		a.cfg.Helper = rootproto.NewClient(rootproto.DefaultPath(os.Getenv))
	}
	return a.cfg.Helper
}

// inside returns the agent that has just read the sources want in a client's
// container.
func (a *Agent) inside(ctx context.Context, client *pmda.Client, want sources) (*Agent, error) {
	name := containerOf(client)
	if a.root != "/" {
		return nil, fmt.Errorf("linux: container %q: files are not those of this machine: %w", name, pcp.ErrNotConn)
	}
	pid, err := a.helper().ProcessID(name)
	bs := &a.boxes
	switch {
	case errors.Is(err, pcp.ErrNotConn) && !bs.silent:
		bs.silent = true
		a.log.Error("containers are unavailable", "err", err)
	case err == nil:
		bs.silent = false
	}
	if err == nil && pid <= 0 {
		err = pcp.ErrNoContainer // it does not run
	}
	if err != nil {
		return nil, fmt.Errorf("linux: container %q: %w", name, err)
	}
	in, err := a.readInside(ctx, name, pid, withSources(want))
	if err != nil {
		return nil, fmt.Errorf("linux: container %q, process %d: %w", name, pid, err)
	}
	return in, nil
}

// use makes b the one used last, and forgets those not used for long.
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

// fetchInside is Fetch for a client that looks into a container.
func (a *Agent) fetchInside(ctx context.Context, req *pmda.FetchRequest) error {
	var want sources
	for _, id := range req.PMIDs {
		if m := a.metric(id); m != nil && isInside(m.block) {
			want |= m.need & insideSources
		}
	}
	in, err := a.inside(ctx, req.Client, want)
	if err != nil {
		return err
	}
	a.readMissing(req, true)
	a.copy(req, in)
	return nil
}

// blockInside is indomBlock for a client that looks into a container.
func (a *Agent) blockInside(ctx context.Context, client *pmda.Client, b blockID) (*block, error) {
	var want sources
	if isInside(b) {
		want = blockSpecs[b].from
	}
	in, err := a.inside(ctx, client, want)
	if err != nil {
		return nil, err
	}
	if isInside(b) {
		return &in.blocks[b], nil
	}
	a.read(blockSpecs[b].from)
	return &a.blocks[b], nil
}
