package browser

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/safefile"
)

// Open opens an address in the browser of the user, and reports whether there is a browser.
func Open(env *cli.Env, address string) (found bool, err error) {
	program := find(env)
	if program == nil {
		return false, nil
	}
	file, err := doorway(env, address)
	if err == nil {
		cmd := exec.Command(program[0], append(program[1:], file)...)
		if err = cmd.Start(); err == nil {
			go cmd.Wait() // it may run for longer than this program
		}
	}
	return true, err
}

// find finds the program that opens addresses for this user, nil if there is no screen to do so.
func find(env *cli.Env) []string {
	if list := env.Getenv("BROWSER"); list != "" {
		for _, one := range filepath.SplitList(list) {
			words := strings.Fields(one)
			if len(words) == 0 || strings.Contains(one, "%") {
				continue
			}
			if path, err := env.LookPath(words[0]); err == nil {
				return append([]string{path}, words[1:]...)
			}
		}
		return nil
	}
	name := "xdg-open"
	switch {
	case runtime.GOOS == "darwin":
		name = "open"
	case env.Getenv("DISPLAY") == "" && env.Getenv("WAYLAND_DISPLAY") == "":
		return nil
	}
	if path, err := env.LookPath(name); err == nil {
		return []string{path}
	}
	return nil
}

// doorway writes a file that leads to an address. All users of a machine see the arguments of
// programs, so that the token must not be one.
func doorway(env *cli.Env, address string) (string, error) {
	return doorwayAt(env, "open-page.html", address)
}

func doorwayAt(env *cli.Env, name, address string) (string, error) {
	dir, err := env.StateDir()
	if err != nil {
		return "", err
	}
	if err := safefile.MkdirAll(dir, 0o700, nil); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	text := fmt.Sprintf("<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n"+
		"<meta http-equiv=\"refresh\" content=\"0;url=%s\">\n<title>pcp</title>\n<p><a href=\"%[1]s\">The page of pcp</a></p>\n", html.EscapeString(address))
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return "", err
	}
	err = safefile.ReplaceBytes(path, []byte(text), safefile.Replacement{Mode: 0o600, Uid: -1, Gid: -1})
	return path, err
}
