// Wrap covers a command inside of a sandbox of package conformance. It records
// that the command was called, and becomes ours or the real one. Under the name
// sudo it is a sudo(8) that asks nothing.
//
// The sandbox lays out the files in Dir.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Dir is the directory of a sandbox's own files: links has our commands, root
// is the machine's real file system, ran.log lists the calls.
const Dir = "/mnt"

func main() {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		fatal(err)
	}
	if filepath.Base(exe) == "sudo" {
		sudo(os.Args[1:])
	}
	name := command(exe, os.Args[0], dirs...)
	target := filepath.Join(Dir, "links", name)
	kind := "ours"
	if _, err := os.Stat(target); err != nil {
		target, kind = filepath.Join(Dir, "root", exe), "real" // which looks at os.Args[0] itself
	}
	note(kind, name)
	err = syscall.Exec(target, os.Args, os.Environ())
	if errors.Is(err, syscall.ENOEXEC) { // a script without #!
		err = syscall.Exec("/bin/sh", append([]string{"/bin/sh", target}, os.Args[1:]...), os.Environ())
	}
	fatal(fmt.Errorf("%s: %w", target, err))
}

// command returns which command is meant when exe was called as arg0: exe, or a
// symbolic link to it in a directory of commands.
func command(exe, arg0 string, dirs ...string) string {
	name, called := filepath.Base(exe), filepath.Base(arg0)
	if called == name {
		return name
	}
	for _, dir := range append([]string{filepath.Dir(exe)}, dirs...) {
		if to, err := filepath.EvalSymlinks(filepath.Join(dir, called)); err == nil && to == exe {
			return called
		}
	}
	return name
}

// dirs are where PCP has commands, or links to them.
var dirs = []string{"/usr/bin", "/usr/lib/pcp/bin", "/usr/libexec/pcp/bin"}

// note adds a line to the log. If it cannot, the command runs all the same.
func note(kind, name string) {
	f, err := os.OpenFile(filepath.Join(Dir, "ran.log"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return
	}
	fmt.Fprintf(f, "%s %s\n", kind, name)
	f.Close()
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "conformance:", err)
	os.Exit(127)
}

const sudoUsage = `usage: sudo -h
usage: sudo [-AbEHknPS] [-g group] [-u user] [VAR=value] command
`

// sudo runs a command as root, or as the user that -u and -g name.
func sudo(args []string) {
	user, group, background := "root", "", false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		arg := args[0]
		args = args[1:]
		if arg == "-h" || arg == "--help" || arg == "-V" {
			fmt.Print(sudoUsage)
			os.Exit(0)
		}
		if arg == "--" {
			break
		}
		if strings.HasPrefix(arg, "--") {
			continue
		}
		for i := 1; i < len(arg); i++ {
			if arg[i] == 'b' {
				background = true
			}
			if arg[i] != 'u' && arg[i] != 'g' {
				continue
			}
			value := arg[i+1:]
			if value == "" && len(args) > 0 {
				value, args = args[0], args[1:]
			}
			if arg[i] == 'u' {
				user = value
			} else {
				group = value
			}
			break
		}
	}
	for len(args) > 0 && strings.Contains(args[0], "=") && args[0][0] != '/' && args[0][0] != '.' {
		k, v, _ := strings.Cut(args[0], "=")
		os.Setenv(k, v)
		args = args[1:]
	}
	if len(args) == 0 {
		os.Exit(0)
	}
	path, err := find(args[0])
	if err != nil {
		fmt.Fprintf(os.Stderr, "sudo: %s: command not found\n", args[0])
		os.Exit(1)
	}
	uid, gid, err := identity(user, group)
	if err == nil {
		err = errors.Join(syscall.Setgroups([]int{gid}), syscall.Setgid(gid), syscall.Setuid(uid))
	}
	if err == nil && background {
		_, err = os.StartProcess(path, args, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
		if err == nil {
			os.Exit(0)
		}
	} else if err == nil {
		err = syscall.Exec(path, args, os.Environ())
	}
	fmt.Fprintln(os.Stderr, "sudo:", err)
	os.Exit(1)
}

// find looks a command up in PATH.
func find(name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", os.ErrNotExist
}
