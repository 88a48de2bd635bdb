package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unicode"
)

// A severity is that of a finding. Its text is that in JSON.
type severity string

const (
	note    severity = "note"    // a fact about the installation
	warning severity = "warning" // something will fail, or fails in part
	fault   severity = "error"   // something does not work
)

func (s severity) word() string {
	if s == fault {
		return "FAULT"
	}
	return "WARNING"
}

// A kind is a kind of fault.
type kind struct {
	id       string // as in docs/doctor.md
	severity severity
	what     string // for the page
	effect   string
}

// A finding is a fault that a check has found.
type finding struct {
	id      string // of the kind
	subject string // the file, agent or host with the fault
	text    string // describes the fault
	command string // mends it

	// fix has the effect of command, if that is harmless, and describes its action.
	fix  func(ctx context.Context, s *site) (done string, err error)
	path string // of the file that fix changes

	done, failed string // result of fix
	more         int    // files with the same fault, see together
}

func (f *finding) severity() severity { return kinds()[f.id].severity }

func (f *finding) effect() string { return kinds()[f.id].effect }

// words quotes the words of a command for a shell.
func words(list ...string) string {
	quoted := make([]string, len(list))
	for i, w := range list {
		if w == "" || strings.ContainsFunc(w, func(c rune) bool {
			return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("/._-+,@%:=", c)
		}) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		quoted[i] = w
	}
	return strings.Join(quoted, " ")
}

// chmod has the finding mended by other permissions of a file.
func (f finding) chmod(path string, mode fs.FileMode) finding {
	perm := fmt.Sprintf("%o", mode.Perm())
	if mode&fs.ModeSticky != 0 {
		perm = fmt.Sprintf("1%03o", mode.Perm())
	}
	f.path, f.command = path, words("chmod", perm, path)
	f.fix = func(context.Context, *site) (string, error) {
		st, err := os.Lstat(path)
		if err == nil && st.Mode()&fs.ModeSymlink != 0 {
			err = errors.New("it is a symbolic link")
		}
		if err == nil {
			err = os.Chmod(path, mode)
		}
		return "permissions of " + path + " set to " + perm, err
	}
	return f
}

// remove has the finding mended by removing a file that an ended process left behind.
func (f finding) remove(path string) finding {
	f.path, f.command = path, words("rm", path)
	f.fix = func(context.Context, *site) (string, error) {
		st, err := os.Lstat(path)
		if err == nil && st.IsDir() {
			err = errors.New("it is a directory")
		}
		if err == nil {
			err = os.Remove(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return path + " removed", err
	}
	return f
}

// mkdir has the finding mended by making a directory, owned by owner if that is possible.
func (f finding) mkdir(path string, mode fs.FileMode, owner *owner) finding {
	perm := fmt.Sprintf("%o", mode.Perm())
	f.path, f.command = path, words("install", "-d", "-m", perm, path)
	if owner != nil {
		f.command = words("install", "-d", "-o", owner.user, "-g", owner.group, "-m", perm, path)
	}
	f.fix = func(context.Context, *site) (string, error) {
		if err := os.MkdirAll(path, mode); err != nil {
			return "", err
		}
		if err := os.Chmod(path, mode); err != nil { // despite the umask
			return "", err
		}
		if owner != nil {
			if err := os.Lchown(path, owner.uid, owner.gid); err != nil {
				return "", err
			}
		}
		return "directory " + path + " created", nil
	}
	return f
}
