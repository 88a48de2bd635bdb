package root

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// docker keeps a directory for each container, with a file about it.
type docker struct {
	dir     string
	systemd string // parent of the scopes, if systemd names them
	cgroups string // changes with the containers that run

	list1, list2 stamp
}

func (d *docker) name() string { return "docker" }

func (d *docker) namesLate() bool { return true }

func (d *docker) changed() bool {
	groups := d.list2.changed(d.cgroups) && d.list2.missing == nil
	return d.list1.changed(d.dir) || groups
}

func (d *docker) list(cs *containers) {
	for _, id := range names(d.dir) {
		c := cs.add(id, d, func(*container) {})
		if c == nil || c.sure {
			continue
		}
		if c.cgroup, c.sure = findCGroup(cs.cgroups, "docker-", id); !c.sure {
			if d.systemd != "" {
				c.cgroup = cut(d.systemd + "/docker-" + id + ".scope")
			} else {
				c.cgroup = cut("/docker/" + id)
			}
		}
	}
}

// dockerFiles are those with a container's state, the later layout first: files
// of the other may be left over.
var dockerFiles = [...]string{"config.v2.json", "config.json"}

func (d *docker) refresh(_ context.Context, c *container) error {
	path := ""
	for _, name := range dockerFiles {
		path = filepath.Join(d.dir, c.id, name)
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			break
		} else if name == dockerFiles[len(dockerFiles)-1] {
			return fmt.Errorf("%s: %w", path, fs.ErrNotExist)
		}
	}
	if !c.stamp.changed(path) {
		return nil
	}
	b, err := readFile(path, maxStateFile)
	if err == nil {
		err = c.parseDocker(b)
	}
	if err != nil {
		c.stamp = stamp{}
	}
	return err
}

// parseDocker parses a config.v2.json.
func (c *container) parseDocker(b []byte) error {
	var file struct {
		Name   string
		Config struct{ Image string }
		State  struct {
			Pid                         int64
			Running, Paused, Restarting bool
		}
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return err
	}
	c.name, c.image, c.pid, c.state = file.Name, file.Config.Image, -1, stopped
	if s := &file.State; s.Pid > 0 && s.Pid <= maxPID {
		c.pid = int(s.Pid)
	}
	switch s := &file.State; {
	case s.Running: // also a paused container
		c.state = running
	case s.Paused:
		c.state = paused
	case s.Restarting:
		c.state = restarting
	}
	return nil
}

// maxPID is the largest number that a process can have (PID_MAX_LIMIT).
const maxPID = 4 << 20

// podman has a list of all containers, and for each that runs a file with the
// number of its process.
type podman struct {
	data, run string
	host      host
	listed    stamp
}

func (p *podman) name() string { return "podman" }

func (p *podman) namesLate() bool { return false }

func (p *podman) path() string { return filepath.Join(p.data, "containers.json") }

func (p *podman) changed() bool { return p.listed.changed(p.path()) }

func (p *podman) list(cs *containers) {
	b, err := readFile(p.path(), maxListFile)
	if err != nil {
		return // none
	}
	all, err := parsePodman(b)
	if err != nil {
		cs.complain(p, "", err.Error())
	}
	for _, entry := range all {
		c := cs.add(entry.ID, p, func(c *container) {
			if c.cgroup, c.sure = findCGroup(cs.cgroups, "libpod-", c.id); !c.sure {
				c.cgroup = cut("/libpod-" + c.id + ".scope")
			}
		})
		if c == nil {
			continue
		}
		if len(entry.Names) > 0 {
			c.name = entry.Names[len(entry.Names)-1]
		}
		c.image = entry.image()
	}
}

type podmanEntry struct {
	ID    string   `json:"id"`
	Names []string `json:"names"`

	Metadata string `json:"metadata"` // JSON
}

// image returns the name of the image in the metadata, "" if there is none.
func (e *podmanEntry) image() string {
	var m struct {
		Image string `json:"image-name"`
	}
	_ = json.Unmarshal([]byte(e.Metadata), &m)
	return m.Image
}

func parsePodman(b []byte) (all []podmanEntry, err error) {
	err = json.Unmarshal(b, &all)
	return all, err
}

func (p *podman) refresh(_ context.Context, c *container) error {
	c.pid, c.state = 0, stopped
	b, err := readFile(filepath.Join(p.run, c.id, "userdata", "pidfile"), maxPIDFile)
	if err != nil {
		return nil // it does not run
	}
	if pid, ok := parsePID(b); ok && p.host.exists(pid) {
		c.pid, c.state = pid, running
	}
	return nil
}

const maxPIDFile = 4096

// parsePID reads the number at the start of a file.
func parsePID(b []byte) (int, bool) {
	word, _, _ := bytes.Cut(bytes.TrimLeft(b, " \t\n"), []byte("\n"))
	n, err := strconv.Atoi(string(bytes.TrimSpace(word)))
	return n, err == nil && n > 0 && n <= maxPID
}

// lxc keeps a directory for each container; a command prints its state.
type lxc struct {
	dir     string
	info    string // the command; "" if it cannot ask the host, whose control groups are read then
	cgroups string
	host    host
	listed  stamp
}

func (l *lxc) name() string { return "lxc" }

func (l *lxc) namesLate() bool { return false }

func (l *lxc) changed() bool { return l.listed.changed(l.dir) }

func (l *lxc) list(cs *containers) {
	for _, id := range names(l.dir) {
		cs.add(id, l, func(c *container) {
			c.cgroup = cut("/lxc/" + id)
			c.name, c.sure = "/"+id, true // as docker's: shownName removes the slash
		})
	}
}

// lxcTimeout is the time limit of the command.
const lxcTimeout = 2 * time.Second

func (l *lxc) refresh(ctx context.Context, c *container) error {
	c.pid, c.state = 0, stopped
	if l.info == "" {
		return l.refreshByGroup(c)
	}
	words := append(strings.Fields(l.info), "-n", c.id)
	ctx, cancel := context.WithTimeout(ctx, lxcTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.WaitDelay = lxcTimeout
	var out limitedBuffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil && ctx.Err() != nil {
		return fmt.Errorf("%s: no answer within %v", words[0], lxcTimeout)
	}
	c.parseLXC(out.b.Bytes())
	return nil
}

// refreshByGroup finds the first process of a container in its control group.
func (l *lxc) refreshByGroup(c *container) error {
	for _, top := range hierarchies(l.cgroups) {
		for _, name := range [...]string{"/lxc.payload." + c.id, "/lxc/" + c.id} {
			if pid := l.host.firstProcess(top + name); pid > 0 {
				c.pid, c.state, c.cgroup = pid, running, cut(name)
				return nil
			}
		}
	}
	return nil
}

// parseLXC parses lines "Key: value".
func (c *container) parseLXC(b []byte) {
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		key, value, ok := strings.Cut(lines.Text(), ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch key {
		case "PID":
			if pid, ok := parsePID([]byte(value)); ok {
				c.pid = pid
			}
		case "State":
			switch value {
			case "RUNNING", "STOPPING", "ABORTING":
				c.state = running
			case "STOPPED": // paused in the C agent
				c.state = paused
			case "STARTING":
				c.state = restarting
			}
		}
	}
}

// A limitedBuffer keeps the start of the output.
type limitedBuffer struct{ b bytes.Buffer }

const maxOutput = 64 << 10

func (l *limitedBuffer) Write(p []byte) (int, error) {
	l.b.Write(p[:min(len(p), maxOutput-l.b.Len())])
	return len(p), nil
}

// names lists a directory in its order, without names that start with a dot.
func names(dir string) (list []string) {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	all, _ := f.Readdirnames(maxContainers)
	for _, name := range all {
		if !strings.HasPrefix(name, ".") {
			list = append(list, name)
		}
	}
	return list
}

// readFile reads a regular file up to a limit of bytes.
func readFile(path string, most int64) ([]byte, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%s: more than %d bytes", path, most)
	}
	return b, err
}

// cut shortens the name of a control group to the length that is kept.
func cut(s string) string { return s[:min(len(s), maxCGroup)] }

// errFound ends a walk.
var errFound = errors.New("found")

// Limits of the search for a control group.
const (
	maxDepth = 32
	maxDirs  = 100000
)

// findCGroup looks below the hierarchies that engines use for a group named
// after a container, and returns its name within the hierarchy.
func findCGroup(cgroups, prefix, id string) (group string, ok bool) {
	for _, hierarchy := range [...]string{"unified", "memory"} {
		top := filepath.Join(cgroups, hierarchy)
		seen := 0
		err := walkCGroups(top, "", 0, &seen, func(path, base string) error {
			if strings.HasPrefix(strings.TrimPrefix(base, prefix), id) {
				group = cut(path)
				return errFound
			}
			return nil
		})
		if err == errFound {
			return group, true
		}
	}
	return "", false
}

// walkCGroups calls fn for the directories below top, in the order of each
// directory.
func walkCGroups(top, path string, depth int, seen *int, fn func(path, base string) error) error {
	f, err := os.Open(top + path)
	if err != nil {
		return nil
	}
	entries, _ := f.ReadDir(-1)
	f.Close()
	for _, e := range entries {
		base := e.Name()
		if !e.IsDir() || strings.HasPrefix(base, ".") || base == "user.slice" {
			continue
		}
		if *seen++; *seen > maxDirs || depth >= maxDepth {
			return nil
		}
		child := path + "/" + base
		if err := fn(child, base); err != nil {
			return err
		}
		if err := walkCGroups(top, child, depth+1, seen, fn); err != nil {
			return err
		}
	}
	return nil
}
