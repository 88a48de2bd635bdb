//go:build unix

package safefile

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	maxLinks = 40  // of one path
	maxTries = 100 // to create a name that comes and goes
)

// A dir is an open directory.
type dir struct {
	fd      int
	path    string
	trusted bool
}

func (d *dir) close() { unix.Close(d.fd) }

// retry calls f again as long as a signal interrupts it.
func retry(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}

func openat(fd int, name string, flags int, perm uint32) (got int, err error) {
	err = retry(func() error {
		got, err = unix.Openat(fd, name, flags|unix.O_CLOEXEC, perm)
		return err
	})
	return got, err
}

func ownerTrusted(uid uint32) bool { return uid == 0 || int(uid) == os.Geteuid() }

func newDir(fd int, path string) (*dir, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &dir{fd, path, ownerTrusted(st.Uid) && st.Mode&0o022 == 0}, nil
}

// stat describes a name without following it.
func (d *dir) stat(name string) (st unix.Stat_t, err error) {
	err = retry(func() error { return unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return st, err
}

// follows reports whether to follow a symbolic link in the directory.
func (d *dir) follows(st *unix.Stat_t) bool { return d.trusted || ownerTrusted(st.Uid) }

func (d *dir) readlink(name string) (string, error) {
	b := make([]byte, 4096)
	n, err := unix.Readlinkat(d.fd, name, b)
	if err != nil {
		return "", err
	}
	return string(b[:n]), nil
}

// openDir opens a directory by its absolute path.
func openDir(path string, links *int) (d *dir, err error) {
	root, err := openat(unix.AT_FDCWD, "/", dirFlags, 0)
	if err != nil {
		return nil, err
	}
	if d, err = newDir(root, "/"); err != nil {
		return nil, err
	}
	rest := strings.Split(path, "/")
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == "" || name == "." {
			continue
		}
		st, err := d.stat(name)
		if err != nil {
			d.close()
			return nil, err
		}
		if st.Mode&unix.S_IFMT == unix.S_IFLNK {
			target, err := d.readlink(name)
			if *links++; err == nil && (*links > maxLinks || !d.follows(&st)) {
				err = unix.ELOOP
			}
			if err != nil {
				d.close()
				return nil, err
			}
			rest = append(strings.Split(target, "/"), rest...)
			if !strings.HasPrefix(target, "/") {
				continue
			}
			name = "/"
		}
		fd, err := openat(d.fd, name, dirFlags, 0)
		old := d
		old.close()
		if err != nil {
			return nil, err
		}
		if d, err = newDir(fd, filepath.Join(old.path, name)); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// openParent opens the directory of path and returns the name within. If follow
// is set and that is a link that may be followed, it is followed.
func openParent(path string, follow bool) (d *dir, name string, err error) {
	parent, name, err := split(path)
	if err != nil {
		return nil, "", err
	}
	links := 0
	for {
		d, err = openDir(parent, &links)
		if err != nil || !follow {
			return d, name, err
		}
		st, err := d.stat(name)
		if err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK || !d.follows(&st) {
			return d, name, nil
		}
		target, err := d.readlink(name)
		if links++; err == nil && links > maxLinks {
			err = unix.ELOOP
		}
		if err != nil || strings.HasPrefix(target, "/proc/self/fd/") { // of this process, as /dev/stderr is
			return d, name, err
		}
		if !filepath.IsAbs(target) {
			target = d.path + "/" + target
		}
		d.close()
		// Not filepath.Clean: ".." after a link is above the link's target.
		i := strings.LastIndexByte(strings.TrimRight(target, "/"), '/')
		parent, name = target[:i+1], strings.Trim(target[i:], "/")
		if name == "" || name == "." || name == ".." {
			return nil, "", unix.EISDIR
		}
	}
}

// create creates a file that was not there.
func (d *dir) create(name string, flags int, perm fs.FileMode) (*os.File, error) {
	fd, err := openat(d.fd, name, flags|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, uint32(perm.Perm()))
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), filepath.Join(d.path, name)), nil
}

func (d *dir) remove(name string) error {
	return retry(func() error { return unix.Unlinkat(d.fd, name, 0) })
}

// CreateLog creates the log at path, for appending. A file that was there
// becomes path.prev, or goes if it cannot; anything else that somebody may have
// planted goes. A character device is opened as it is if its directory is
// trusted, as /dev/null.
func CreateLog(path string, perm fs.FileMode) (*os.File, error) {
	d, name, err := openParent(path, true)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	defer d.close()
	for range maxTries {
		st, err := d.stat(name)
		switch kind := st.Mode & unix.S_IFMT; {
		case err == unix.ENOENT:
		case err != nil:
			return nil, pathError("open", path, err)
		case kind == unix.S_IFREG:
			prev := name + ".prev"
			if err := unix.Renameat(d.fd, name, d.fd, prev); err != nil && err != unix.ENOENT {
				d.remove(name)
			}
		case d.trusted && (kind == unix.S_IFCHR || kind == unix.S_IFLNK):
			fd, err := openat(d.fd, name, unix.O_WRONLY|unix.O_APPEND|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
			if err != nil {
				return nil, pathError("open", path, err)
			}
			unix.SetNonblock(fd, false) // for those who inherit it
			return os.NewFile(uintptr(fd), path), nil
		case d.trusted:
			return nil, notRegular("open", path, kindOf(uint32(kind)))
		default:
			if err := d.remove(name); err != nil && err != unix.ENOENT {
				return nil, pathError("open", path, err)
			}
		}
		f, err := d.create(name, unix.O_WRONLY|unix.O_APPEND, perm)
		if err != unix.EEXIST {
			if err != nil {
				return nil, pathError("open", path, err)
			}
			return f, nil
		}
	}
	return nil, pathError("open", path, unix.EEXIST)
}

func kindOf(kind uint32) string {
	switch kind {
	case unix.S_IFDIR:
		return "a directory"
	case unix.S_IFIFO:
		return "a FIFO"
	case unix.S_IFSOCK:
		return "a socket"
	case unix.S_IFLNK:
		return "a symbolic link"
	case unix.S_IFCHR, unix.S_IFBLK:
		return "a device"
	}
	return "a file with several names"
}

// Create creates the file at path for writing, replacing any file with that name,
// which is not followed or written to.
func Create(path string, perm fs.FileMode) (*os.File, error) {
	d, name, err := openParent(path, false)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	defer d.close()
	for range maxTries {
		if err := d.remove(name); err != nil && err != unix.ENOENT {
			return nil, pathError("open", path, err)
		}
		f, err := d.create(name, unix.O_WRONLY, perm)
		if err == nil {
			return f, nil
		}
		if err != unix.EEXIST {
			return nil, pathError("open", path, err)
		}
	}
	return nil, pathError("open", path, unix.EEXIST)
}

// Remove removes the name at path.
func Remove(path string) error {
	d, name, err := openParent(path, false)
	if err != nil {
		return pathError("remove", path, err)
	}
	defer d.close()
	if err := d.remove(name); err != nil {
		return pathError("remove", path, err)
	}
	return nil
}

// OpenAppend opens the file at path for appending, or creates it, which created
// reports. It must be a regular file with one name, or, in a trusted directory, a
// character device. How is flags in addition, as os.O_RDWR.
func OpenAppend(path string, flags int, perm fs.FileMode) (f *os.File, created bool, err error) {
	d, name, err := openParent(path, true)
	if err != nil {
		return nil, false, pathError("open", path, err)
	}
	defer d.close()
	if flags&unix.O_RDWR == 0 {
		flags |= unix.O_WRONLY
	}
	flags |= unix.O_APPEND | unix.O_NOCTTY
	for range maxTries {
		nofollow := unix.O_NOFOLLOW
		if st, err := d.stat(name); err == nil && d.trusted && st.Mode&unix.S_IFMT == unix.S_IFLNK {
			nofollow = 0 // of this process, see openParent
		}
		fd, err := openat(d.fd, name, flags|nofollow|unix.O_NONBLOCK, 0)
		if err == unix.ENOENT {
			f, err = d.create(name, flags, perm)
			if err == unix.EEXIST {
				continue
			}
			if err != nil {
				return nil, false, pathError("open", path, err)
			}
			return f, true, nil
		}
		if err != nil {
			if err == unix.ENXIO { // a FIFO without a reader, or a socket
				return nil, false, notRegular("open", path, "a FIFO or socket")
			}
			return nil, false, pathError("open", path, err)
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			unix.Close(fd)
			return nil, false, pathError("open", path, err)
		}
		kind := st.Mode & unix.S_IFMT
		device := d.trusted && (kind == unix.S_IFCHR || nofollow == 0)
		if !device && (kind != unix.S_IFREG || st.Nlink != 1 && !d.trusted) {
			unix.Close(fd)
			return nil, false, notRegular("open", path, kindOf(uint32(kind)))
		}
		unix.SetNonblock(fd, false)
		return os.NewFile(uintptr(fd), path), false, nil
	}
	return nil, false, pathError("open", path, unix.EEXIST)
}

// Open opens the file at path for reading. It must be a regular file.
func Open(path string) (*os.File, error) {
	d, name, err := openParent(path, true)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	defer d.close()
	fd, err := openat(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if kind := st.Mode & unix.S_IFMT; err == nil && kind != unix.S_IFREG {
		unix.Close(fd)
		return nil, notRegular("open", path, kindOf(uint32(kind)))
	}
	if err != nil {
		unix.Close(fd)
		return nil, pathError("open", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// tempName returns a temporary name for name that cannot be guessed.
func tempName(name string) string { return "." + name + "." + rand.Text()[:10] }

// Replace writes a new file in the place of the one at path, in one step: at no
// time is there half a file or none. If that fails, the old one stays.
func Replace(path string, how Replacement, write func(io.Writer) error) (err error) {
	d, name, err := openParent(path, how.Follow)
	if err != nil {
		return pathError("open", path, err)
	}
	defer d.close()
	was, err := d.stat(name)
	there := err == nil
	if err != nil && err != unix.ENOENT {
		return pathError("open", path, err)
	}
	if there && was.Mode&unix.S_IFMT != unix.S_IFREG && (how.Keep || how.Writable) {
		return notRegular("replace", path, kindOf(uint32(was.Mode&unix.S_IFMT)))
	}
	if there && how.Writable {
		fd, err := openat(d.fd, name, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if err != nil {
			return pathError("open", path, err)
		}
		unix.Close(fd)
	}
	temp := tempName(name)
	f, err := d.create(temp, unix.O_WRONLY, 0o600)
	if err != nil {
		return pathError(OpCreate, path, err)
	}
	defer func() {
		f.Close()
		if err != nil {
			d.remove(temp)
		}
	}()
	uid, gid, mode := how.Uid, how.Gid, how.Mode.Perm()
	if how.Keep && there {
		uid, gid, mode = int(was.Uid), int(was.Gid), fs.FileMode(was.Mode&0o777)
	}
	var mine unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &mine); err != nil {
		return pathError("replace", path, err)
	}
	if uid >= 0 && uint32(uid) != mine.Uid || gid >= 0 && uint32(gid) != mine.Gid {
		if err := f.Chown(uid, gid); err != nil && !how.Lenient {
			return pathError("keep the owner of", path, err)
		}
	}
	if err := f.Chmod(mode); err != nil {
		return pathError("chmod", path, err)
	}
	if err := write(f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return pathError("write", path, err)
	}
	if err := f.Close(); err != nil {
		return pathError("write", path, err)
	}
	if how.Was != nil || how.MustBeNew {
		now, err := d.stat(name)
		switch {
		case err == unix.ENOENT && how.MustBeNew:
		case err != nil:
			return pathError("replace", path, err)
		case how.Was == nil || !same(&now, how.Was):
			return pathError("replace", path, ErrChanged)
		}
	}
	if err := unix.Renameat(d.fd, temp, d.fd, name); err != nil {
		return pathError("replace", path, err)
	}
	return nil
}

// same reports whether a file is still as it was.
func same(now *unix.Stat_t, was fs.FileInfo) bool {
	st, ok := statOf(was)
	return ok && uint64(now.Dev) == uint64(st.Dev) && now.Ino == st.Ino && now.Size == was.Size() &&
		time.Unix(now.Mtim.Unix()).Equal(was.ModTime())
}

// socketProbe is how long a socket that is in the way has to show life.
const socketProbe = 100 * time.Millisecond

// A SocketMode configures a socket that Listen makes.
type SocketMode struct {
	Perm     fs.FileMode
	Uid, Gid int // -1 for the process's
}

// Listen listens on a Unix socket at path. It has its mode and owner before its
// name appears. It replaces a symbolic link and a socket that no process listens
// on. A file stays, as does a socket in use, and Listen returns EADDRINUSE.
func Listen(path string, mode SocketMode) (net.Listener, error) {
	addr := &net.UnixAddr{Net: "unix", Name: path}
	fail := func(err error) (net.Listener, error) {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return nil, &net.OpError{Op: "listen", Net: "unix", Addr: addr, Err: err}
	}
	if len(path) >= len(unix.RawSockaddrUnix{}.Path) {
		return fail(os.NewSyscallError("bind", unix.EINVAL))
	}
	d, name, err := openParent(path, false)
	if err != nil {
		return fail(os.NewSyscallError("bind", err))
	}
	defer d.close()
	// A directory of our own, which no other user can look into.
	temp := tempName("s")
	if err := unix.Mkdirat(d.fd, temp, 0o700); err != nil {
		return fail(os.NewSyscallError("bind", err))
	}
	defer unix.Unlinkat(d.fd, temp, unix.AT_REMOVEDIR)
	own, err := openat(d.fd, temp, dirFlags, 0)
	if err != nil {
		return fail(os.NewSyscallError("bind", err))
	}
	defer unix.Close(own)
	bound := filepath.Join(d.path, temp, "s")
	if len(bound) >= len(unix.RawSockaddrUnix{}.Path) {
		bound = procPath(own, bound)
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: bound})
	if err != nil {
		return fail(err)
	}
	ln.SetUnlinkOnClose(false)
	defer unix.Unlinkat(own, "s", 0)
	if err := place(d, name, own, mode); err != nil {
		ln.Close()
		return fail(os.NewSyscallError("bind", err))
	}
	l := &listener{UnixListener: ln, addr: addr}
	l.file, _ = d.stat(name)
	return l, nil
}

// place gives the socket "s" in own its mode, its owner and its name.
func place(d *dir, name string, own int, mode SocketMode) error {
	if err := unix.Fchmodat(own, "s", uint32(mode.Perm.Perm()), 0); err != nil {
		return err
	}
	if mode.Uid >= 0 || mode.Gid >= 0 {
		if err := unix.Fchownat(own, "s", mode.Uid, mode.Gid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
	}
	for range maxTries {
		err := unix.Linkat(own, "s", d.fd, name, 0)
		if err != unix.EEXIST {
			return err
		}
		st, err := d.stat(name)
		switch kind := st.Mode & unix.S_IFMT; {
		case err == unix.ENOENT:
			continue
		case err != nil:
			return err
		case kind == unix.S_IFSOCK && abandoned(filepath.Join(d.path, name)):
		case kind == unix.S_IFLNK:
		default:
			return unix.EADDRINUSE
		}
		if err := d.remove(name); err != nil && err != unix.ENOENT {
			return err
		}
	}
	return unix.EADDRINUSE
}

// abandoned reports whether no process listens on the socket at path.
func abandoned(path string) bool {
	conn, err := net.DialTimeout("unix", path, socketProbe)
	if err == nil {
		conn.Close()
		return false
	}
	return errors.Is(err, unix.ECONNREFUSED)
}

// A listener knows the name that its socket has now.
type listener struct {
	*net.UnixListener
	addr *net.UnixAddr
	file unix.Stat_t
	keep bool

	unlink sync.Once
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return l.addr }

// SetUnlinkOnClose sets whether Close removes the socket's name; the default is true.
func (l *listener) SetUnlinkOnClose(unlink bool) { l.keep = !unlink }

// Close implements net.Listener. It removes the name first, if it is still that of this socket.
func (l *listener) Close() error {
	l.unlink.Do(func() {
		if l.keep {
			return
		}
		d, name, err := openParent(l.addr.Name, false)
		if err != nil {
			return
		}
		defer d.close()
		if st, err := d.stat(name); err == nil && st.Dev == l.file.Dev && st.Ino == l.file.Ino {
			d.remove(name)
		}
	})
	return l.UnixListener.Close()
}

// CreateNew creates a file that is not there yet, for writing, as os.OpenFile with O_EXCL does, but follows links
// within the path as this package does.
func CreateNew(path string, perm fs.FileMode) (*os.File, error) {
	d, name, err := openParent(path, false)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	defer d.close()
	fd, err := openat(d.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, uint32(perm.Perm()))
	if err != nil {
		return nil, pathError("open", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Mkdir makes the directory at path as os.Mkdir does, but follows links within the path as this package does.
func Mkdir(path string, perm fs.FileMode) error {
	d, name, err := openParent(path, false)
	if err != nil {
		return pathError("mkdir", path, err)
	}
	defer d.close()
	if err := unix.Mkdirat(d.fd, name, uint32(perm.Perm())); err != nil {
		return pathError("mkdir", path, err)
	}
	return nil
}

// MkdirAll makes the directory at path and those above it, as os.MkdirAll, but
// follows links as this package does. It reports those that it made to made.
func MkdirAll(path string, perm fs.FileMode, made func(dir *os.File) error) error {
	links := 0
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	d, err := openDir(abs, &links)
	if err == nil {
		d.close()
		return nil
	}
	if err != unix.ENOENT {
		return pathError("mkdir", path, err)
	}
	if err := MkdirAll(filepath.Dir(abs), perm, made); err != nil {
		return err
	}
	d, name, err := openParent(abs, false)
	if err != nil {
		return pathError("mkdir", path, err)
	}
	defer d.close()
	if err := unix.Mkdirat(d.fd, name, uint32(perm.Perm())); err != nil && err != unix.EEXIST {
		return pathError("mkdir", path, err)
	}
	fd, err := openat(d.fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return pathError("mkdir", path, err)
	}
	f := os.NewFile(uintptr(fd), abs)
	defer f.Close()
	if made == nil {
		return nil
	}
	return made(f)
}
