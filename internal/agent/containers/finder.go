package containers

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-pcp/pcp/internal/agent/containers/runtimes"
	"github.com/go-pcp/pcp/internal/hostroot"
)

// Limits.
const (
	maxContainers = 16384
	maxSpec       = 1 << 20  // bytes of a file about one container
	maxList       = 16 << 20 // bytes of a list of containers
	maxPasswd     = 4 << 20

	// again is the time after which a container without labels is looked for again. It doubles up to longest.
	again, longest = 10 * time.Second, 5 * time.Minute
)

// A Finder finds labels, and remembers them. It must not be used by several goroutines at a time.
type Finder struct {
	asker *runtimes.Asker
	root  string
	now   func() time.Time
	known map[string]*entry // by identifier of a container or pod
	lists map[string]*list  // by path
	logs  map[string]Labels // of containers, by the kubelet's links
	pods  map[string]Labels // by identifier, by the kubelet's directories
	homes map[string]string // of users
	read  time.Time         // when logs and pods were read
	reads int               // files and directories that were read
}

type entry struct {
	group  group
	labels Labels
	files  Labels // those of files
	found  bool   // in files
	listed bool   // by a runtime
	rounds uint64 // of the asker
	at     time.Time
	wait   time.Duration
}

// A list is a containers.json.
type list struct {
	checked, modified time.Time
	size              int64
	all               map[string]Labels
}

// New returns a Finder for a host whose root directory is root, "/" or where a container has it. log gets the reasons for which
// runtimes cannot be asked; nil discards.
func New(root string, log *slog.Logger) *Finder {
	if root == "" {
		root = "/"
	}
	return &Finder{
		asker: runtimes.New(runtimes.Config{Root: root, Log: log}),
		root:  root, now: time.Now, known: make(map[string]*entry), lists: make(map[string]*list),
	}
}

// Close ends requests to runtimes.
func (f *Finder) Close() error { return f.asker.Close() }

// Ask has the runtimes asked in the background.
func (f *Finder) Ask() { f.asker.Ask() }

// Saw has the runtimes asked in the background if a new control group belongs to a container or pod.
func (f *Finder) Saw(cgroup string) {
	if _, ok := parseGroup(cgroup); ok {
		f.asker.Ask()
	}
}

// Labels returns the labels of the container, or pod, that a control group belongs to, none if it belongs to none, or if no
// file and no runtime describes the container.
func (f *Finder) Labels(cgroup string) Labels {
	g, ok := parseGroup(cgroup)
	if !ok {
		return Labels{}
	}
	key := g.id
	if key == "" {
		key = g.pod
	}
	now := f.now()
	e := f.known[key]
	rounds := f.asker.Rounds()
	due := e != nil && !(e.found && e.listed) && now.Sub(e.at) >= e.wait
	if e != nil && e.rounds == rounds && e.group == g && !due {
		return e.labels
	}
	if e == nil {
		if len(f.known) >= maxContainers {
			clear(f.known) // most have ended
		}
		e = &entry{wait: again / 2}
		f.known[key] = e
		due = true
	}
	if due {
		e.at, e.wait = now, min(2*e.wait, longest)
		if !e.found {
			e.files, e.found = f.find(&g)
		}
		if !e.listed {
			f.asker.Ask()
		}
	}
	e.rounds, e.group = rounds, g
	e.labels, e.listed = f.ask(&g, e.files)
	return e.labels
}

// ask adds to labels of files those that the last answers of runtimes have, which take precedence, and reports whether a runtime lists
// the container or pod.
func (f *Finder) ask(g *group, files Labels) (l Labels, listed bool) {
	var c *runtimes.Container
	if g.id == "" {
		if c, listed = f.asker.Pod(g.pod); listed {
			l = Of(c)
			l.Runtime = "" // that of its containers
		}
	} else if c, listed = f.asker.Find(g.id, g.uid); listed {
		l = Of(c)
	}
	l.merge(files)
	if l == (Labels{}) {
		return l, listed
	}
	if l.Container == "" && g.id != "" {
		l.Container = g.id[:12]
	}
	if l.PodUID == "" {
		l.PodUID = g.pod
	}
	return l, listed
}

// find reads the files about a container or pod.
func (f *Finder) find(g *group) (l Labels, found bool) {
	f.kubelet()
	if g.id == "" {
		l, found = f.pods[g.pod]
		return l, found
	}
	l.Runtime = g.runtime
	if g.runtime == "" || g.runtime == "docker" {
		found = f.file(&l, path.Join("var/lib/docker/containers", g.id, "config.v2.json"), decodeDocker) || found
	}
	if g.runtime == "" || g.runtime == "containerd" {
		for _, space := range [...]string{"k8s.io", "default"} {
			found = f.file(&l, path.Join("run/containerd/io.containerd.runtime.v2.task", space, g.id, "config.json"), decodeSpec) || found
		}
	}
	if g.runtime == "" || g.runtime == "cri-o" {
		found = f.file(&l, path.Join("run/containers/storage/overlay-containers", g.id, "userdata/config.json"), decodeSpec) || found
	}
	if g.runtime == "" || g.runtime == "cri-o" || g.runtime == "podman" {
		dirs := []string{"var/lib/containers/storage"}
		if home := f.home(g.uid); home != "" {
			dirs = append(dirs, path.Join(home, ".local/share/containers/storage"))
		}
		for _, dir := range dirs {
			if other, ok := f.list(path.Join(dir, "overlay-containers/containers.json"))[g.id]; ok {
				l.merge(other)
				found = true
			}
		}
	}
	if other, ok := f.logs[g.id]; ok {
		l.merge(other)
		found = true
	}
	if other, ok := f.pods[g.pod]; ok {
		l.merge(other)
		found = true
	}
	if !found {
		return Labels{}, false
	}
	if l.Container == "" {
		l.Container = g.id[:12]
	}
	return l, found
}

// file merges the labels of one file, and reports whether there is one.
func (f *Finder) file(l *Labels, name string, decode func([]byte) (Labels, error)) bool {
	b, err := f.readFile(name, maxSpec)
	if err != nil {
		return false
	}
	other, err := decode(b)
	if err != nil {
		return false
	}
	l.merge(other)
	return true
}

// list returns the containers of a containers.json, which is read if it has changed.
func (f *Finder) list(name string) map[string]Labels {
	l := f.lists[name]
	if l == nil {
		if len(f.lists) >= maxContainers {
			clear(f.lists)
		}
		l = new(list)
		f.lists[name] = l
	}
	now := f.now()
	if !l.checked.IsZero() && now.Sub(l.checked) < time.Second {
		return l.all
	}
	l.checked = now
	info, err := os.Stat(f.path(name))
	switch {
	case err != nil:
		*l = list{checked: now}
		return nil
	case info.ModTime().Equal(l.modified) && info.Size() == l.size && now.Sub(l.modified) > 2*time.Second:
		return l.all
	}
	l.modified, l.size, l.all = info.ModTime(), info.Size(), nil
	if b, err := f.readFile(name, maxList); err == nil {
		l.all, _ = decodeStorage(b) // while it is being written, the next reading has it
	}
	return l.all
}

// kubelet reads the names of the kubelet's logs, and forgets the homes of users.
func (f *Finder) kubelet() {
	now := f.now()
	if !f.read.IsZero() && now.Sub(f.read) < time.Second {
		return
	}
	f.read = now
	f.logs, f.pods, f.homes = make(map[string]Labels), make(map[string]Labels), nil
	for _, name := range f.names("var/log/containers") {
		if id, l, ok := logLabels(name); ok {
			f.logs[id] = l
		}
	}
	for _, name := range f.names("var/log/pods") {
		if uid, l, ok := podLabels(name); ok {
			f.pods[uid] = l
		}
	}
}

// home returns the home directory of a user, "" if it is not known.
func (f *Finder) home(uid string) string {
	if uid == "" {
		return ""
	}
	if f.homes == nil {
		f.homes = make(map[string]string)
		b, err := f.readFile("etc/passwd", maxPasswd)
		if err != nil {
			return ""
		}
		for line := range bytes.Lines(b) {
			if words := strings.Split(strings.TrimSpace(string(line)), ":"); len(words) == 7 && strings.HasPrefix(words[5], "/") {
				f.homes[words[2]] = words[5]
			}
		}
	}
	return f.homes[uid]
}

// path returns the path of a file of the host, whose directories may be links.
func (f *Finder) path(name string) string {
	real, err := hostroot.Resolve(f.root, name)
	if err != nil {
		return filepath.Join(f.root, name)
	}
	return filepath.Join(f.root, real)
}

// names returns the names in a directory.
func (f *Finder) names(dir string) []string {
	d, err := os.Open(f.path(dir))
	if err != nil {
		return nil
	}
	defer d.Close()
	f.reads++
	list, _ := d.Readdirnames(maxContainers)
	return list
}

// readFile reads a regular file of at most so many bytes.
func (f *Finder) readFile(name string, most int64) ([]byte, error) {
	file, err := open(f.path(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("not a regular file, or too large")}
	}
	f.reads++
	b, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(b)) > most {
		err = &fs.PathError{Op: "read", Path: name, Err: errors.New("too large")}
	}
	return b, err
}
