package cli

import (
	"io/fs"
	"os"
	"path/filepath"
)

// LookPath returns the program that a shell would run by a name, as execvp(3) finds
// it: the name itself if it has a slash, else the file of that name in a directory
// of PATH.
func (e *Env) LookPath(name string) (string, error) {
	if name == "" {
		return "", fs.ErrNotExist
	}
	if filepath.Base(name) != name {
		return name, nil
	}
	var err error = fs.ErrNotExist
	for _, dir := range filepath.SplitList(e.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if dir == "" {
			path = "./" + name
		}
		if Executable(path) {
			return path, nil
		}
		if _, e := os.Stat(path); e == nil {
			err = fs.ErrPermission
		}
	}
	return "", err
}

// Executable reports whether path is a file that its user, its group or others may
// execute. The system has the last word when it is executed.
func Executable(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0
}

// Replace runs another program in the place of this one, with more variables in its
// environment, and returns why that was not possible.
func (e *Env) Replace(path string, args, more []string) error {
	if e.Exec == nil {
		return fs.ErrInvalid
	}
	if err := e.FlushOut(); err != nil {
		return err
	}
	return e.Exec(path, args, more)
}
