package browser

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// ErrNoChromium is the error of Take if there is no browser that makes pictures.
var ErrNoChromium = errors.New("pictures are made by Chromium or Google Chrome, and neither is in $PATH, nor named by $BROWSER")

// A Picture is a picture of a page. The browser that makes it needs no display.
type Picture struct {
	Address       string
	Width, Height int    // of the page; a Height of 0 is that of its content
	Format        string // "png", "jpeg" or "pdf"
	Ready         string // an expression of JavaScript that is true when the page is complete
}

const (
	// loading is how long a page may take to be ready.
	loading = 60 * time.Second
	// settling is the time in which a page draws itself in another size.
	settling = 500 * time.Millisecond
	// maxHeight is the largest height of a picture.
	maxHeight = 16384
	// maxAnswer is the largest answer of the browser, which has a picture in base64.
	maxAnswer = 128 << 20
)

// Take makes the picture. The page has its style for printing, with a white background.
func (p Picture) Take(ctx context.Context, env *cli.Env) ([]byte, error) {
	program := findChromium(env)
	if program == nil {
		return nil, ErrNoChromium
	}
	if runtime.GOOS == "windows" {
		return nil, errors.New("pictures are not supported on Windows")
	}
	profile, err := os.MkdirTemp("", "pcp-browser-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(profile)
	ctx, cancel := context.WithTimeout(ctx, loading)
	defer cancel()
	b, err := start(ctx, append(program, "--headless=new", "--remote-debugging-pipe", "--user-data-dir="+profile,
		"--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio"))
	if err != nil {
		return nil, err
	}
	defer b.end()
	picture, err := p.take(ctx, b)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("the page is not complete within %v", loading)
		}
	}
	return picture, err
}

func (p Picture) take(ctx context.Context, b *driven) ([]byte, error) {
	var target struct{ TargetID string }
	if err := b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return nil, err
	}
	var session struct{ SessionID string }
	if err := b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session); err != nil {
		return nil, err
	}
	b.session = session.SessionID
	height := p.Height
	if height == 0 {
		height = 900
	}
	if err := b.resize(p.Width, height); err != nil {
		return nil, err
	}
	err := b.call("Emulation.setEmulatedMedia", map[string]any{
		"media": "print", "features": []map[string]string{{"name": "prefers-color-scheme", "value": "light"}},
	}, nil)
	if err != nil {
		return nil, err
	}
	// A page that takes itself for hidden would request nothing.
	if err := b.call("Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil); err != nil {
		return nil, err
	}
	if err := b.call("Page.navigate", map[string]any{"url": p.Address}, nil); err != nil {
		return nil, err
	}
	if err := b.until(ctx, p.Ready); err != nil {
		return nil, err
	}
	if p.Height == 0 {
		if err := b.eval("document.documentElement.scrollHeight", &height); err != nil {
			return nil, err
		}
		if err := b.resize(p.Width, min(max(height, 1), maxHeight)); err != nil {
			return nil, err
		}
	}
	select { // the page draws itself in its last size
	case <-time.After(settling):
	case <-ctx.Done():
	}
	if err := b.until(ctx, p.Ready); err != nil {
		return nil, err
	}
	method, args := "Page.captureScreenshot", map[string]any{"format": p.Format}
	if p.Format == "pdf" {
		method, args = "Page.printToPDF", map[string]any{"printBackground": true, "landscape": true}
	}
	var answer struct{ Data string }
	if err := b.call(method, args, &answer); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(answer.Data)
}

// findChromium finds a browser that can be driven without a display.
func findChromium(env *cli.Env) []string {
	if program := find(env); program != nil && isChromium(program[0]) {
		return withoutSandbox(program)
	}
	for _, name := range chromiums {
		if path, err := env.LookPath(name); err == nil {
			return withoutSandbox([]string{path})
		}
	}
	if path := "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; runtime.GOOS == "darwin" && cli.Executable(path) {
		return []string{path}
	}
	return nil
}

// withoutSandbox lets root run the browser, which it refuses with its sandbox. The only page that it shows is ours.
func withoutSandbox(program []string) []string {
	if os.Geteuid() == 0 {
		program = append(program, "--no-sandbox")
	}
	return program
}

// A driven browser takes commands of the Chrome DevTools Protocol from a pipe: JSON, each ended by a NUL. Unlike a port, other users
// cannot reach it.
type driven struct {
	cmd     *exec.Cmd
	w       *os.File
	r       *os.File
	in      *bufio.Reader
	session string
	id      int
}

func start(ctx context.Context, program []string) (*driven, error) {
	childIn, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer childIn.Close()
	r, childOut, err := os.Pipe()
	if err != nil {
		w.Close()
		return nil, err
	}
	defer childOut.Close()
	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.ExtraFiles = []*os.File{childIn, childOut} // its descriptors 3 and 4
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		w.Close()
		r.Close()
		return nil, err
	}
	return &driven{cmd: cmd, w: w, r: r, in: bufio.NewReader(r)}, nil
}

// end ends the browser.
func (b *driven) end() {
	b.session = ""
	if b.call("Browser.close", nil, nil) != nil {
		b.cmd.Process.Kill()
	}
	b.w.Close()
	b.r.Close()
	b.cmd.Wait()
}

// call gives a command and waits for its answer.
func (b *driven) call(method string, params, result any) error {
	b.id++
	order := map[string]any{"id": b.id, "method": method}
	if params != nil {
		order["params"] = params
	}
	if b.session != "" {
		order["sessionId"] = b.session
	}
	text, err := json.Marshal(order)
	if err != nil {
		return err
	}
	if _, err := b.w.Write(append(text, 0)); err != nil {
		return fmt.Errorf("the browser ended: %s: %w", method, err)
	}
	for {
		text, err := b.message()
		if err != nil {
			return fmt.Errorf("the browser ended: %s: %w", method, err)
		}
		var answer struct {
			ID     int
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(text, &answer); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		switch {
		case answer.ID != b.id: // an event
		case answer.Error != nil:
			return fmt.Errorf("%s: %s", method, strings.TrimSuffix(answer.Error.Message, "."))
		case result == nil:
			return nil
		default:
			return json.Unmarshal(answer.Result, result)
		}
	}
}

// message reads one message.
func (b *driven) message() ([]byte, error) {
	var text []byte
	for {
		part, err := b.in.ReadSlice(0)
		text = append(text, part...)
		switch {
		case err == nil:
			return text[:len(text)-1], nil
		case errors.Is(err, bufio.ErrBufferFull) && len(text) <= maxAnswer:
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("an answer of more than %d bytes", maxAnswer)
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}

func (b *driven) resize(width, height int) error {
	return b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// eval evaluates an expression of JavaScript.
func (b *driven) eval(js string, result any) error {
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct{ Text string }
	}
	if err := b.call("Runtime.evaluate", map[string]any{"expression": js, "returnByValue": true}, &answer); err != nil {
		return err
	}
	if answer.ExceptionDetails != nil {
		return fmt.Errorf("%s: %s", js, answer.ExceptionDetails.Text)
	}
	return json.Unmarshal(answer.Result.Value, result)
}

// until waits until an expression of JavaScript is true.
func (b *driven) until(ctx context.Context, js string) error {
	for {
		ready := false
		if err := b.eval("!!("+js+")", &ready); err != nil {
			return err
		}
		if ready {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
