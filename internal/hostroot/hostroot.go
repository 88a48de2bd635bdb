// Package hostroot finds the files of a host from a container in which the root directory of the host is
// mounted.
//
//	root := hostroot.Of(os.Getenv)               // "/host", or "/" outside of a container
//	path := hostroot.Path(root, "proc/net/dev")  // "/host/proc/1/net/dev"
package hostroot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Setting is the setting with the directory in which the root directory of the host is mounted.
const Setting = "PCP_HOST_ROOT"

// Of returns the root directory of the host by its setting, "/" if there is none.
func Of(get func(string) string) string {
	dir := get(Setting)
	if dir == "" {
		return "/"
	}
	return filepath.Clean(dir)
}

// Check returns an error if dir cannot be the root directory of a host, or is not an absolute path.
func Check(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%s: the root directory of the host must be an absolute path", dir)
	}
	if _, err := os.Stat(filepath.Join(dir, "proc/1")); err != nil {
		return fmt.Errorf("%w; mount the root directory of the host at %s, with what is mounted below it", err, dir)
	}
	return nil
}

// IsOther reports whether root is the root directory of a host in which this process is a container.
func IsOther(root string) bool { return root != "" && root != "/" }

// Name returns the name of a file of the host, without the leading slash, in place of a name that means another file for
// each process: the network and the mounts are those of the first process of the host. A name below /var/run, which is a
// link, is replaced by one below /run.
func Name(name string) string {
	name = strings.TrimPrefix(name, "/")
	for _, r := range [...]struct{ prefix, instead string }{
		{"proc/net/", "proc/1/net/"},
		{"proc/self/", "proc/1/"},
		{"proc/mounts", "proc/1/mounts"},
		{"var/run/", "run/"},
	} {
		if rest, ok := strings.CutPrefix(name, r.prefix); ok {
			return r.instead + rest
		}
	}
	return name
}

// Path returns the path of a file of the host, which [Name] names: that below root, or the file itself if root is "/".
func Path(root, name string) string {
	if !IsOther(root) {
		return filepath.Join("/", name)
	}
	return filepath.Join(root, Name(name))
}

// maxLinks is the maximum number of symbolic links on the way to a file, as in the kernel.
const maxLinks = 40

// Resolve follows the symbolic links on the way to a file of the host as processes of the host do: links with an absolute
// target begin at root, and none leads out of it. It returns the name below root, with a leading slash, also of a
// file that does not exist.
func Resolve(root, name string) (string, error) {
	rest := strings.Split(filepath.Clean("/"+name), "/")
	at := "/"
	for links := 0; len(rest) > 0; {
		word := rest[0]
		rest = rest[1:]
		switch word {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, word)
		target, err := os.Readlink(filepath.Join(root, next))
		if err != nil {
			at = next // not a link, or missing
			continue
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "resolve", Path: filepath.Join(root, name), Err: errors.New("too many links")}
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return at, nil
}

// maxName is the number of bytes read of /etc/hostname.
const maxName = 4096

// HostName returns the name of the host: that of the system, or if root is another than "/" that in /etc/hostname below it, as a container
// has a name of its own. Without that file the name is that of the system.
func HostName(root string) (string, error) {
	if IsOther(root) {
		if name := nameIn(filepath.Join(root, "etc/hostname")); name != "" {
			return name, nil
		}
	}
	return os.Hostname()
}

// nameIn returns the first line of a file that is neither empty nor a comment.
func nameIn(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, maxName)
	n, _ := f.Read(b)
	for line := range strings.Lines(string(b[:n])) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return line
		}
	}
	return ""
}
