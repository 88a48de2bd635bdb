package doctor

import (
	"os"
	"strings"
	"time"
)

// hungWait is how long a file system may take to answer.
const hungWait = 300 * time.Millisecond

// hungMount returns the mount point of a file system of a server or program that does not answer, "" if all do.
func hungMount(mounts string, stat func(path string) error) string {
	answered := make(chan string)
	done := make(chan struct{})
	defer close(done)
	waiting := make(map[string]bool)
	var order []string
	for line := range strings.Lines(mounts) {
		f := strings.Fields(line)
		if len(f) < 3 || !remoteType(f[2]) || waiting[f[1]] || len(order) >= maxMounts {
			continue
		}
		waiting[f[1]] = true
		order = append(order, f[1])
		go func() { // it stays until the file system answers
			_ = stat(f[1])
			select {
			case answered <- f[1]:
			case <-done:
			}
		}()
	}
	late := time.After(hungWait)
	for len(waiting) > 0 {
		select {
		case path := <-answered:
			delete(waiting, path)
		case <-late:
			for _, path := range order {
				if waiting[path] {
					return path
				}
			}
		}
	}
	return ""
}

const maxMounts = 100

// remoteType reports whether file systems of a type depend on a server or a program.
func remoteType(typ string) bool {
	for _, prefix := range []string{"nfs", "cifs", "smb", "fuse", "9p", "ceph", "glusterfs", "afs", "lustre"} {
		if strings.HasPrefix(typ, prefix) {
			return true
		}
	}
	return false
}

// mountTable is the table of mounts, "" if there is none.
func mountTable() string {
	b, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return ""
	}
	return string(b)
}

func statPath(path string) error {
	_, err := os.Stat(path)
	return err
}
