package proc

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
)

// A view has the values that clients of one kind see.
type view struct {
	viewKey
	engine *column.Agent
	lists  [2]*processes
}

// close closes the files of processes that are kept open.
func (v *view) close() {
	for _, p := range v.lists {
		p.closeAll()
	}
}

// A viewKey identifies the clients of a view.
type viewKey struct {
	identity
	filter
}

// An identity is the user that the files of processes are read as.
type identity struct {
	own      bool // that of the agent
	uid, gid int  // otherwise this user, if the agent may become it
}

// maxViews is the maximum number of views. Each has memory for the values of its
// processes.
const maxViews = 8

// viewOf returns the view of a client. For an unknown client that is a view with the error
// pcp.ErrPermission: it has only the metrics that are not about single processes.
func (a *Agent) viewOf(client *pmda.Client) (*view, error) {
	key, known, err := a.keyOf(client)
	if err != nil {
		return nil, err
	}
	if !known {
		return a.viewFor(key), pcp.ErrPermission
	}
	return a.viewFor(key), nil
}

// keyOf returns the key of the view, and whether the user of the client is known. If not, the
// view is that of the agent's own user.
func (a *Agent) keyOf(client *pmda.Client) (key viewKey, known bool, err error) {
	key = viewKey{filter: filter{threads: a.threads, cgroup: a.cfg.CGroup}}
	if s := a.clients[client]; s != nil {
		if s.hasThreads {
			key.threads = s.threads
		}
		if s.cgroup != "" {
			key.cgroup = s.cgroup
		}
	}
	if client != nil && client.Attrs[pmda.AttrContainer] != "" {
		if key.container, err = a.groupOf(client.Attrs[pmda.AttrContainer]); err != nil {
			return key, false, err
		}
	}
	if key.identity.own = a.cfg.AllAccess; !key.identity.own {
		uid, ok := -1, false
		if client != nil {
			uid, ok = client.UserID()
		}
		if !ok {
			key.identity.own = true
			return key, false, nil
		}
		if uid == 0 || uid == os.Geteuid() {
			key.identity.own = true
		} else {
			gid, err := strconv.Atoi(client.Attrs[pmda.AttrGroupID])
			if err != nil {
				key.identity.own = true
				return key, false, nil
			}
			key.identity = identity{uid: uid, gid: gid}
		}
	}
	return key, true, nil
}

// groupOf returns the control group of a container, which is that of its first process: the
// longest path in /proc/PID/cgroup.
func (a *Agent) groupOf(container string) (string, error) {
	if a.cfg.Containers == nil {
		return "", pcp.ErrNoContainer
	}
	pid, err := a.cfg.Containers.ProcessID(container)
	if err != nil {
		return "", err
	}
	var r procfs.Buffer
	b, err := r.Read(filepath.Join(a.machine.dir, strconv.Itoa(pid), "cgroup"), true)
	if err != nil {
		return "", fmt.Errorf("control group of container %s: %w", container, err)
	}
	group, longest := "", 0
	for line := range procfs.Lines(b) {
		if n := len(line) - bytes.LastIndexByte(line, ':'); n > longest {
			group, longest = string(line), n
		}
	}
	if longest <= len(":/") {
		return "", fmt.Errorf("container %s is in no control group: %w", container, pcp.ErrNoContainer)
	}
	return group, nil
}

// viewFor returns the view for a key.
func (a *Agent) viewFor(key viewKey) *view {
	i := slices.IndexFunc(a.views, func(v *view) bool { return v.viewKey == key })
	var v *view
	if i < 0 {
		v = a.viewOn(key, !key.own && os.Geteuid() != 0)
		if len(a.views) == maxViews {
			a.views[maxViews-1].close()
			a.views = a.views[:maxViews-1]
		}
	} else {
		v = a.views[i]
		if i == 0 {
			return v
		}
		a.views = slices.Delete(a.views, i, i+1)
	}
	a.views = slices.Insert(a.views, 0, v)
	return v
}

// viewOn makes a view, in which private files are not read if private is set.
func (a *Agent) viewOn(key viewKey, private bool) *view {
	p, hot := newProcesses(a.machine, key.filter, private), newList(a.machine, key.filter, private, a.hot)
	p.keeps = key.own && !key.threads && a.machine.maxOpen > 0
	hot.keeps = p.keeps
	families := slices.Concat(newGroups(a.machine, key.container).families(), families(p), families(hot))
	engine, err := column.New(column.Config{Name: "proc", Domain: a.cfg.Domain, Texts: help, Order: slices.Concat(groupOrder, order, hotOrder()), Log: a.cfg.Log}, families...)
	if err != nil {
		panic(err) // the tables are wrong
	}
	return &view{key, engine, [...]*processes{p, hot}}
}

// families returns all families of metrics of processes.
func families(p *processes) []column.Family {
	stat := newStatSource(p)
	families := []column.Family{
		p.family(),
		stat.family(),
		newStatusSource(p).family(),
		statmFamily(p),
		schedstatFamily(p),
		ioFamily(p),
		smapsFamily(p),
		fdFamily(p),
		oomFamily(p),
		groupFamily(p),
		fdinfoFamily(p),
		delayFamily(p),
	}
	families = append(families, autogroupFamilies(p)...)
	families = append(families, textFamilies(p)...)
	if p.hot != nil {
		return append(families, hotFamilies(p)...)
	}
	return append(families, acctFamily(p.machine), runqFamily(stat), numaMapsFamily(p))
}

// do calls fn as the user of the view, if the agent may.
func (v *view) do(fn func() error) error {
	if v.own || os.Geteuid() != 0 {
		return fn()
	}
	return asUser(v.uid, v.gid, fn)
}

func (v *view) fetch(ctx context.Context, req *pmda.FetchRequest) error {
	return v.do(func() error { return v.engine.Fetch(ctx, req) })
}
