package containers

import (
	"encoding/json"
	"strings"

	"github.com/go-pcp/pcp/internal/agent/containers/runtimes"
)

// Labels are those of a container; a label that is not known is "".
type Labels struct {
	Container string // name of the container; in a pod the name within the pod
	Image     string
	ImageID   string // digest of the image
	Pod       string
	PodUID    string
	Namespace string
	Runtime   string // docker, podman, containerd or cri-o

	own *[]runtimes.Label // that users gave; nil for none
}

// Of returns the labels of a container that its runtime lists.
func Of(c *runtimes.Container) Labels {
	l := Labels{
		Container: c.Name, Image: c.Image, ImageID: c.ImageID, Pod: c.Pod, PodUID: c.PodUID, Namespace: c.Namespace, Runtime: c.Runtime,
	}
	if len(c.Labels) > 0 {
		l.own = &c.Labels
	}
	return l
}

// merge fills in what l lacks.
func (l *Labels) merge(other Labels) {
	for _, f := range [...]struct {
		to   *string
		from string
	}{
		{&l.Container, other.Container},
		{&l.Image, other.Image},
		{&l.ImageID, other.ImageID},
		{&l.Pod, other.Pod},
		{&l.PodUID, other.PodUID},
		{&l.Namespace, other.Namespace},
		{&l.Runtime, other.Runtime},
	} {
		if *f.to == "" {
			*f.to = f.from
		}
	}
	if l.own == nil {
		l.own = other.own
	}
}

// Map adds the known labels to m. A value that cannot be a label is left out.
func (l *Labels) Map(m map[string]any) map[string]any {
	for _, f := range [...]struct{ name, value string }{
		{"container", l.Container},
		{"image", l.Image},
		{"image_id", l.ImageID},
		{"pod", l.Pod},
		{"pod_uid", l.PodUID},
		{"namespace", l.Namespace},
		{"runtime", l.Runtime},
	} {
		if f.value != "" && len(f.value) <= maxValue && !strings.ContainsFunc(f.value, func(r rune) bool { return r < ' ' || r > '~' }) {
			m[f.name] = f.value
		}
	}
	if l.own != nil {
		for _, o := range *l.own {
			m[o.Name] = o.Value
		}
	}
	return m
}

// maxValue is the maximum length of the value of a label.
const maxValue = runtimes.MaxValue

// decodeSpec reads the annotations of a config.json of the Open Container Initiative, which containerd and CRI-O write for each
// container of a pod.
func decodeSpec(b []byte) (l Labels, err error) {
	var spec struct {
		Annotations map[string]string `json:"annotations"`
	}
	if err := json.Unmarshal(b, &spec); err != nil {
		return l, err
	}
	a := spec.Annotations
	first := func(names ...string) string {
		for _, name := range names {
			if a[name] != "" {
				return a[name]
			}
		}
		return ""
	}
	const containerd, crio = "io.kubernetes.cri.", "io.kubernetes.cri-o."
	l = Labels{
		Container: first(containerd+"container-name", "io.kubernetes.container.name", "nerdctl/name"),
		Image:     first(containerd+"image-name", crio+"ImageName", crio+"Image", "nerdctl/image-ref"),
		Pod:       first(containerd+"sandbox-name", "io.kubernetes.pod.name"),
		PodUID:    first(containerd+"sandbox-uid", "io.kubernetes.pod.uid"),
		Namespace: first(containerd+"sandbox-namespace", "io.kubernetes.pod.namespace"),
	}
	switch {
	case a[containerd+"container-type"] != "" || a["nerdctl/name"] != "":
		l.Runtime = "containerd"
	case a[crio+"ContainerType"] != "" || a[crio+"Image"] != "" || a[crio+"ImageName"] != "":
		l.Runtime = "cri-o"
	}
	return l, nil
}

// decodeDocker reads a config.v2.json of docker. The kubelet, if it uses docker, adds labels.
func decodeDocker(b []byte) (l Labels, err error) {
	var file struct {
		Name   string
		Config struct {
			Image  string
			Labels map[string]string
		}
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return l, err
	}
	l = Labels{Container: strings.TrimPrefix(file.Name, "/"), Image: file.Config.Image, Runtime: "docker"}
	if k := file.Config.Labels; k["io.kubernetes.pod.name"] != "" {
		l.Container, l.Pod, l.Namespace = k["io.kubernetes.container.name"], k["io.kubernetes.pod.name"], k["io.kubernetes.pod.namespace"]
		l.PodUID = k["io.kubernetes.pod.uid"]
	}
	return l, nil
}

// decodeStorage reads a containers.json, the list of containers that podman and CRI-O keep, by identifier. The metadata of each is
// JSON in a string.
func decodeStorage(b []byte) (map[string]Labels, error) {
	var list []struct {
		ID       string   `json:"id"`
		Names    []string `json:"names"`
		Metadata string   `json:"metadata"`
	}
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, err
	}
	all := make(map[string]Labels)
	for _, c := range list {
		if !isID(c.ID) || len(all) == maxContainers {
			continue
		}
		var m struct {
			Image string `json:"image-name"`
			Name  string `json:"name"`
			Pod   string `json:"pod-name"`
		}
		_ = json.Unmarshal([]byte(c.Metadata), &m) // without it the names are known
		l := Labels{Container: m.Name, Image: m.Image, Runtime: "podman"}
		if l.Container == "" && len(c.Names) > 0 {
			l.Container = c.Names[0]
		}
		if m.Pod != "" {
			l.Runtime = "cri-o" // whose names of containers are those of its config.json
			l.Container = ""
		}
		all[c.ID] = l
	}
	return all, nil
}

// logLabels returns the labels in the name of a link of the kubelet, POD_NAMESPACE_CONTAINER-ID.log, and the identifier.
func logLabels(name string) (id string, l Labels, ok bool) {
	name, ok = strings.CutSuffix(name, ".log")
	if i := len(name) - digits; !ok || i < 1 || name[i-1] != '-' || !isID(name[i:]) {
		return "", l, false
	} else {
		id, name = name[i:], name[:i-1]
	}
	words := strings.Split(name, "_")
	if len(words) != 3 {
		return "", l, false
	}
	return id, Labels{Pod: words[0], Namespace: words[1], Container: words[2]}, true
}

// podLabels returns the labels in the name of a directory of the kubelet, NAMESPACE_POD_UID, and the identifier of the pod.
func podLabels(name string) (uid string, l Labels, ok bool) {
	words := strings.Split(name, "_")
	if len(words) != 3 || !isUID(words[2]) {
		return "", l, false
	}
	return words[2], Labels{Namespace: words[0], Pod: words[1], PodUID: words[2]}, true
}
