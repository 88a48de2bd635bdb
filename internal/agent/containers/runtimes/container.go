package runtimes

import (
	"cmp"
	"slices"
	"strings"
)

// Limits on answers.
const (
	maxContainers = 16384    // of all runtimes
	maxAnswer     = 16 << 20 // bytes
	maxHeader     = 64 << 10 // bytes

	// MaxValue is the maximum length of a text of a container. A longer one is left out.
	MaxValue = 255
	// MaxLabels is the maximum number of labels of a container, with those of its pod. Of more, the first by name are kept.
	MaxLabels = 16
	// MaxLabelName and MaxLabelValue are the maximum lengths of a label that is kept.
	MaxLabelName, MaxLabelValue = 96, 128
)

// A Container is what its runtime knows about it. A text that is not known is "".
type Container struct {
	ID      string // 64 hexadecimal digits
	Runtime string // docker, podman, containerd or cri-o
	Name    string // in a pod the name within the pod, "" for the container that holds the pod
	Image   string
	ImageID string // digest of the image, as sha256:...
	State   State
	PID     int // of its first process; 0 if the runtime does not list it
	Pod     string
	PodUID  string
	// Namespace is the name space of Kubernetes.
	Namespace string
	// Labels are those that users gave the container and its pod, by name. They must not be changed.
	Labels []Label
}

// A Label is a label of a container or a pod. Its name can be that of a label of PCP: container_label_com_example_tier for
// com.example.tier, pod_label_app for the label app of the pod.
type Label struct{ Name, Value string }

// A State is the state of a container.
type State int

// States of containers.
const (
	Unknown State = iota
	Stopped
	Running
	Paused
	Restarting
)

// stateOf returns the state that docker and podman name.
func stateOf(word string) State {
	switch word {
	case "running", "removing", "stopping":
		return Running
	case "paused":
		return Paused
	case "restarting":
		return Restarting
	case "created", "configured", "initialized", "exited", "stopped", "dead":
		return Stopped
	}
	return Unknown
}

// clean removes the texts that are too long or not printable.
func (c *Container) clean() {
	for _, s := range [...]*string{&c.Name, &c.Image, &c.ImageID, &c.Pod, &c.PodUID, &c.Namespace} {
		if len(*s) > MaxValue || !isPrintable(*s) {
			*s = ""
		}
	}
	if c.PID < 0 || c.PID > maxPID {
		c.PID = 0
	}
}

// maxPID is the largest number that a process can have (PID_MAX_LIMIT).
const maxPID = 4 << 20

func isPrintable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// machineLabels are prefixes of labels that programs set on all containers: their values are known elsewhere, or only describe the image.
var machineLabels = []string{
	"io.kubernetes.", "io.cri-containerd.", "io.container.manager", "annotation.", "org.opencontainers.image.", "org.label-schema.",
	"io.buildah.", "desktop.docker.io/", "maintainer",
}

// addLabels adds the labels of a container or its pod. prefix is put before their names.
func (c *Container) addLabels(prefix string, labels map[string]string) {
	var more []Label
	for name, value := range labels {
		if value == "" || len(value) > MaxLabelValue || len(prefix)+len(name) > MaxLabelName || name == "" || !isPrintable(value) ||
			slices.ContainsFunc(machineLabels, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		more = append(more, Label{prefix + labelName(name), value})
	}
	slices.SortFunc(more, func(a, b Label) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Value, b.Value))
	})
	more = slices.CompactFunc(more, func(a, b Label) bool { return a.Name == b.Name })
	room := MaxLabels - len(c.Labels)
	c.Labels = append(slices.Clip(c.Labels), more[:min(len(more), room)]...)
}

// labelName replaces the bytes that names of labels cannot have.
func labelName(s string) string {
	b := []byte(s)
	for i, c := range b {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9') {
			b[i] = '_'
		}
	}
	return string(b)
}

// digest returns the part sha256:... of the reference of an image, "" if there is none.
func digest(ref string) string {
	const prefix, digits = "sha256:", 64
	if i := strings.LastIndex(ref, prefix); i >= 0 {
		ref = ref[i+len(prefix):]
	}
	if len(ref) != digits || !isHex(ref) {
		return ""
	}
	return prefix + ref
}

// isID reports whether s can be the identifier of a container.
func isID(s string) bool { return len(s) == 64 && isHex(s) }

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return true
}
