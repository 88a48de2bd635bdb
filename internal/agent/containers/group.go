package containers

import (
	"strings"
)

// A group is the part of the path of a control group that is about containers.
type group struct {
	id      string // of the container, 64 hexadecimal digits; "" for the group of a pod
	runtime string // "" if the path does not show it
	pod     string // unique identifier of the pod; "" outside of Kubernetes
	uid     string // of the user whose session has the container; "" for none
}

// digits is the length of the identifier of a container.
const digits = 64

// scopes are the prefixes of the names that runtimes give the groups of their containers, with systemd.
var scopes = []struct{ prefix, runtime string }{
	{"docker-", "docker"},
	{"libpod-", "podman"},
	{"cri-containerd-", "containerd"},
	{"nerdctl-", "containerd"},
	{"crio-", "cri-o"},
}

// parseGroup finds the container or the pod of a control group, which may be one below that of the container. Paths are
//
//	/system.slice/docker-ID.scope
//	/docker/ID
//	/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-ID.scope/container
//	/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice/cri-containerd-ID.scope
//	/kubepods/burstable/podUID/ID
func parseGroup(path string) (g group, ok bool) {
	above := ""
	for word := range strings.SplitSeq(path, "/") {
		parent := above
		above = word
		if uid, isUser := strings.CutPrefix(word, "user-"); isUser {
			if uid, isUser = strings.CutSuffix(uid, ".slice"); isUser {
				g.uid = uid
			}
		}
		if uid, isPod := podOf(word); isPod {
			g.pod, ok = uid, true
			continue
		}
		if isID(word) {
			g.id, ok = word, true
			switch parent {
			case "docker":
				g.runtime = "docker"
			case "libpod_parent":
				g.runtime = "podman"
			}
			continue
		}
		name, isScope := strings.CutSuffix(word, ".scope")
		if !isScope {
			continue
		}
		for _, s := range scopes {
			// The monitor of a container, as in libpod-conmon-ID, is no part of it.
			if id, has := strings.CutPrefix(name, s.prefix); has && isID(id) {
				g.id, g.runtime, ok = id, s.runtime, true
			}
		}
	}
	return g, ok
}

// ID returns the identifier of the container that a control group belongs to, "" if it belongs to none.
func ID(cgroup string) string {
	g, _ := parseGroup(cgroup)
	return g.id
}

// podOf returns the identifier of a pod by the name of its group: podUID, or kubepods-burstable-podUID.slice with underscores.
func podOf(word string) (uid string, ok bool) {
	if rest, has := strings.CutSuffix(word, ".slice"); has {
		i := strings.LastIndex(rest, "-pod")
		if !strings.HasPrefix(rest, "kubepods") || i < 0 {
			return "", false
		}
		uid = strings.ReplaceAll(rest[i+len("-pod"):], "_", "-")
	} else if uid, has = strings.CutPrefix(word, "pod"); !has {
		return "", false
	}
	return uid, isUID(uid)
}

// isUID reports whether a word can be the identifier of a pod: hexadecimal digits, usually with hyphens between.
func isUID(s string) bool {
	n := 0
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f':
			n++
		case c != '-':
			return false
		}
	}
	return n == 32
}

func isID(s string) bool {
	if len(s) != digits {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return true
}
