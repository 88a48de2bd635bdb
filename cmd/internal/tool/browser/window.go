package browser

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// ErrNone is the error of Window if there is no screen, or no browser.
var ErrNone = errors.New("there is no browser, or no display to open it on")

// chromiums are the programs that show an address in a window of its own, without tabs and an address bar, by the option --app.
var chromiums = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge", "brave-browser"}

// A Window is a window of the browser.
type Window struct {
	door string
	done chan error
}

// NewWindow opens a window of some pixels for an address. Without a browser, its error is ErrNone. A browser that has no windows
// without tabs, such as firefox, opens an ordinary one.
func NewWindow(env *cli.Env, address string, width, height int) (*Window, error) {
	program := findWindow(env)
	if program == nil {
		return nil, ErrNone
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	door, err := doorwayAt(env, "open-"+u.Port()+".html", address)
	if err != nil {
		return nil, err
	}
	if isChromium(program[0]) {
		file := url.URL{Scheme: "file", Path: door}
		program = append(program, "--app="+file.String(), fmt.Sprintf("--window-size=%d,%d", width, height))
	} else {
		program = append(program, door)
	}
	cmd := exec.Command(program[0], program[1:]...)
	if err := cmd.Start(); err != nil {
		os.Remove(door)
		return nil, err
	}
	w := &Window{door: door, done: make(chan error, 1)}
	go func() { w.done <- cmd.Wait() }()
	return w, nil
}

// Done returns a channel with the end of the program that opened the window. It may be the end of the window, or the program may
// have asked a running browser for the window.
func (w *Window) Done() <-chan error { return w.done }

// Close removes the file with the address. The window stays open, and so does the browser.
func (w *Window) Close() error { return os.Remove(w.door) }

func isChromium(path string) bool {
	return slices.Contains(chromiums, filepath.Base(path)) || strings.HasSuffix(path, "/Google Chrome")
}

// findWindow finds the program that opens windows for this user: that of $BROWSER, else the first that is installed. It returns nil
// without a screen.
func findWindow(env *cli.Env) []string {
	if env.Getenv("BROWSER") != "" {
		return find(env)
	}
	if runtime.GOOS == "darwin" {
		if path := "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; cli.Executable(path) {
			return []string{path}
		}
		return find(env)
	}
	if env.Getenv("DISPLAY") == "" && env.Getenv("WAYLAND_DISPLAY") == "" {
		return nil
	}
	for _, name := range chromiums {
		if path, err := env.LookPath(name); err == nil {
			return []string{path}
		}
	}
	if path, err := env.LookPath("firefox"); err == nil {
		return []string{path, "--new-window"}
	}
	return find(env)
}
