package otlp

import (
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
)

// Attributes of resources, by the semantic conventions of OpenTelemetry.
const (
	hostName           = "host.name"
	hostID             = "host.id"
	hostArch           = "host.arch"
	osType             = "os.type"
	osVersion          = "os.version"
	osDescription      = "os.description"
	processPID         = "process.pid"
	processCommand     = "process.command"
	processCommandLine = "process.command_line"
	containerID        = "container.id"
	containerName      = "container.name"
	podUID             = "k8s.pod.uid"
)

// A resource is what data points are about: a host, a process or a container.
type resource struct {
	attributes []byte // encoded, as fields of a Resource
	users      int    // series, unless it is the host

	in      *request // that part is of
	part    *resourcePart
	metrics map[*metric]*metricPart
}

func newResource(list []names.Pair) *resource {
	return &resource{attributes: appendAttributes(nil, resourceAttributes, list), metrics: make(map[*metric]*metricPart)}
}

// conventional returns the name of a label of a host in the semantic conventions. Labels that are not PCP's keep their names.
func conventional(label string) string {
	switch label {
	case "hostname":
		return hostName
	case "machineid":
		return hostID
	case "containername":
		return containerName
	}
	return label
}

// hostAttributes returns the attributes of the host with these labels. Without a label for its name, it is called name.
func hostAttributes(sets []pcp.LabelSet, name string, about map[string]string) []names.Pair {
	list := names.Merge(sets, nil, pcp.InNull, "", conventional)
	has := func(name string) bool {
		for _, l := range list {
			if l.Name == name {
				return true
			}
		}
		return false
	}
	add := func(key, value string) {
		if value != "" && !has(key) {
			list = append(list, names.Pair{Name: key, Value: names.Quote(value)})
		}
	}
	add(hostName, name)
	add(hostArch, arch(about[unameMachine]))
	add(osType, strings.ToLower(about[unameSysname]))
	add(osVersion, about[unameRelease])
	add(osDescription, about[unameDistro])
	return list
}

// Metrics that describe a host.
const (
	unameSysname = "kernel.uname.sysname"
	unameRelease = "kernel.uname.release"
	unameMachine = "kernel.uname.machine"
	unameDistro  = "kernel.uname.distro"
)

// arch returns a machine's architecture in the words of the conventions.
func arch(machine string) string {
	switch machine {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	case "i386", "i486", "i586", "i686":
		return "x86"
	case "ppc64le":
		return "ppc64"
	}
	if strings.HasPrefix(machine, "armv") {
		return "arm32"
	}
	return machine
}

// Instance domains of processes, in the agent proc.
const (
	procDomain     = 3
	procSerial     = 9
	hotprocSerial  = 39
	cgroupsOfProcs = "proc.psinfo.cgroups"
)

// isProcesses reports whether the instances of a domain are processes.
func isProcesses(indom pcp.InDom) bool {
	return indom != pcp.InDomNull && indom.Domain() == procDomain && (indom.Serial() == procSerial || indom.Serial() == hotprocSerial)
}

// processAttributes returns the attributes of a process, given the name of its instance, "001234 /usr/bin/x -y", and its control groups.
func processAttributes(inst int32, name, cgroups string) []names.Pair {
	list := []names.Pair{{Name: processPID, Value: strconv.FormatInt(int64(inst), 10)}}
	if _, command, ok := strings.Cut(name, " "); ok && command != "" {
		first, _, _ := strings.Cut(command, " ")
		list = append(list, names.Pair{Name: processCommand, Value: names.Quote(first)}, names.Pair{Name: processCommandLine, Value: names.Quote(command)})
	}
	for _, path := range strings.Split(cgroups, ";") {
		if c := containerAttributes(path); c != nil {
			return append(list, c...)
		}
	}
	return list
}

// containerAttributes returns the attributes of the container whose control group has a path, such as
//
//	/system.slice/docker-HEX.scope
//	/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice/cri-containerd-HEX.scope
//	/kubepods/besteffort/podUID/HEX
//
// or nil if it is not a container's.
func containerAttributes(path string) (list []names.Pair) {
	for _, part := range strings.Split(path, "/") {
		part = strings.TrimSuffix(strings.TrimSuffix(part, ".scope"), ".slice")
		if i := strings.LastIndexByte(part, '-'); i >= 0 && isHex(part[i+1:], 64) || isHex(part, 64) {
			list = names.Set(list, containerID, names.Quote(part[i+1:]))
			continue
		}
		_, uid, ok := strings.Cut("-"+part, "-pod")
		if uid = strings.ReplaceAll(uid, "_", "-"); ok && isUID(uid) {
			list = names.Set(list, podUID, names.Quote(uid))
		}
	}
	return list
}

// isUID reports whether s is the identifier of a pod: a UUID, or 32 digits for a static pod.
func isUID(s string) bool {
	if len(s) == 36 {
		for _, i := range []int{8, 13, 18, 23} {
			if s[i] != '-' {
				return false
			}
		}
		s = strings.ReplaceAll(s, "-", "")
	}
	return isHex(s, 32)
}

func isHex(s string, n int) bool {
	if len(s) != n {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
