package proc

import (
	"bytes"
	"errors"
	"io/fs"
	"os"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// A textFile is a file of a process that is one string, and its conversion. The
// string is valid until the next file is read.
type textFile struct {
	name    string
	metrics []column.Metric
	read    func(p *processes, pid int32) ([]byte, error)
}

var textFiles = [...]textFile{
	{"maps", mapsMetrics, (*processes).maps},
	{"wchan", wchanMetrics, func(p *processes, pid int32) ([]byte, error) { return p.secret(pid, "wchan") }},
	{"environ", environMetrics, (*processes).environ},
	{"attr/current", labelMetrics, (*processes).label},
	{"exe", exeMetrics, func(p *processes, pid int32) ([]byte, error) { return p.link(pid, "exe") }},
	{"cwd", cwdMetrics, func(p *processes, pid int32) ([]byte, error) { return p.link(pid, "cwd") }},
}

func textFamilies(p *processes) []column.Family {
	var families []column.Family
	for _, f := range textFiles {
		source, b := p.each("/proc/PID/"+f.name, f.metrics, column.Layout{Cols: 1})
		source.Row = func(row int) {
			if text, err := f.read(p, b[0].Insts()[row]); err == nil {
				b[0].SetString(row, 0, text)
			}
		}
		families = append(families, column.Family{Name: f.name, Metrics: p.table(f.metrics), Sources: []*column.Source{source}})
	}
	return families
}

// secret is file for a file that only the owner of the process may read.
func (p *processes) secret(pid int32, name string) ([]byte, error) {
	if p.private {
		return nil, os.ErrPermission
	}
	return p.file(pid, name, true)
}

// lines reads a private file that the kernel produces in several pieces, without
// its last newline.
func (p *processes) lines(pid int32, name string) ([]byte, error) {
	if p.private {
		return nil, os.ErrPermission
	}
	b, err := p.file(pid, name, false)
	return bytes.TrimSuffix(b, []byte{'\n'}), err
}

// maps returns the memory mappings. Those that the client may not see are empty, as in C.
func (p *processes) maps(pid int32) ([]byte, error) {
	b, err := p.lines(pid, "maps")
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	return b, err
}

// environ returns the environment with blanks between variables. An unreadable
// environment is empty, as in C.
func (p *processes) environ(pid int32) ([]byte, error) {
	b, err := p.secret(pid, "environ")
	if err != nil {
		return nil, nil
	}
	b = bytes.TrimSuffix(b, []byte{0})
	for rest := b; ; {
		i := bytes.IndexByte(rest, 0)
		if i < 0 {
			return b, nil
		}
		rest[i], rest = ' ', rest[i+1:]
	}
}

// label returns the security label.
func (p *processes) label(pid int32) ([]byte, error) {
	b, err := p.file(pid, "attr/current", true)
	if err == nil && len(b) == 0 {
		err = pcp.ErrValue
	}
	return bytes.TrimRight(b, "\n\x00"), err
}

// link returns the target of a symbolic link, which is empty for threads of the kernel.
func (p *processes) link(pid int32, name string) ([]byte, error) {
	if p.private {
		return nil, nil
	}
	path := p.pathOf(pid, name, false)
	if p.opened != nil {
		p.opened(path)
	}
	target, err := p.names.link(path)
	if err != nil {
		return nil, nil
	}
	return target, nil
}

// groupFamily reads lines such as "2:cpu:/a" of /proc/PID/cgroup.
func groupFamily(p *processes) column.Family {
	source, b := p.each("/proc/PID/cgroup", cgroupMetrics, column.Layout{Cols: 2})
	var scratch []byte
	source.Row = func(row int) {
		text, err := p.file(b[0].Insts()[row], "cgroup", true)
		if err != nil {
			return
		}
		var container []byte
		scratch, container = parseGroups(scratch[:0], text)
		b[0].SetString(row, 0, scratch)
		b[0].SetString(row, 1, container)
	}
	return column.Family{Name: "cgroup", Metrics: p.table(cgroupMetrics), Sources: []*column.Source{source}}
}

// parseGroups appends the control groups as ps(1) shows them, "cpu:/a;cpuset:/b", and
// returns the identifier of a container that one of their paths ends with, if any.
func parseGroups(out, b []byte) (groups, container []byte) {
	for line := range procfs.Lines(b) {
		_, group, ok := bytes.Cut(line, []byte{':'})
		if !ok {
			continue
		}
		if len(out) > 0 {
			out = append(out, ';')
		}
		out = append(out, group...)
		if container == nil {
			_, path, _ := bytes.Cut(group, []byte{':'})
			container = containerOf(path)
		}
	}
	return out, container
}

// containerOf returns the identifier at the end of the path of a control group:
// 64 hexadecimal digits, by themselves or as in docker-ID.scope.
func containerOf(path []byte) []byte {
	const digits = 64
	name := path[bytes.LastIndexByte(path, '/')+1:]
	for _, prefix := range [...]string{"docker-", "libpod-"} {
		if rest, ok := bytes.CutPrefix(name, []byte(prefix)); ok {
			name, _, _ = bytes.Cut(rest, []byte{'.'})
			break
		}
	}
	if len(name) != digits {
		return nil
	}
	for _, c := range name {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return nil
		}
	}
	return name
}

// mapsMetrics is the metric of /proc/PID/maps.
var mapsMetrics = []column.Metric{
	{Name: "proc.memory.maps", Cluster: 9, Item: 7, Type: pcp.TypeString, Sem: instant, Help: "Memory mappings, a line each"},
}

// wchanMetrics is the metric of /proc/PID/wchan.
var wchanMetrics = []column.Metric{
	{Name: "proc.psinfo.wchan_s", Cluster: 8, Item: 40, Type: pcp.TypeString, Sem: instant, Help: "Function of the kernel in which the process waits"},
}

// environMetrics is the metric of /proc/PID/environ.
var environMetrics = []column.Metric{
	{Name: "proc.psinfo.environ", Cluster: 8, Item: 47, Type: pcp.TypeString, Sem: instant, Help: "Environment with which the program was started"},
}

// labelMetrics is the metric of /proc/PID/attr/current.
var labelMetrics = []column.Metric{
	{Name: "proc.psinfo.labels", Cluster: 12, Item: 0, Type: pcp.TypeString, Sem: instant, Help: "Security label, as of SELinux"},
}

// exeMetrics is the metric of /proc/PID/exe.
var exeMetrics = []column.Metric{
	{Name: "proc.psinfo.exe", Cluster: 69, Item: 0, Type: pcp.TypeString, Sem: discrete, Help: "Path of the program"},
}

// cwdMetrics is the metric of /proc/PID/cwd.
var cwdMetrics = []column.Metric{
	{Name: "proc.psinfo.cwd", Cluster: 72, Item: 0, Type: pcp.TypeString, Sem: discrete, Help: "Working directory"},
}

// cgroupMetrics are the metrics of /proc/PID/cgroup.
var cgroupMetrics = []column.Metric{
	{Name: "proc.psinfo.cgroups", Cluster: 11, Item: 0, Type: pcp.TypeString, Sem: instant, Help: "Control groups that the process is in"},
	{Name: "proc.id.container", Cluster: 11, Item: 1, Type: pcp.TypeString, Sem: discrete, Col: 1, Help: "Identifier of the container that the process is in, found in its control groups"},
}
