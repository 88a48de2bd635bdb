// Command pictures makes the pictures of README and of docs/page.md: pcp top in a terminal as SVG, and the page of pcp up in a browser as
// PNG, each light and dark, of a real run on this machine. It needs root, bin/pcp, bin/tools/shots,
// unshare and script (util-linux), and Chromium.
//
//	make pictures
package main

import (
	"context"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	columns = 110
	rows    = 30
	dir     = "docs/pictures"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if os.Getpid() > 2 { // only the processes of the pictures, not those of this machine
		self, err := os.Executable()
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, "unshare", "--pid", "--mount", "--uts", "--fork", "--mount-proc", "sh", "-c", `hostname app1; exec "$0"`, self)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		return cmd.Run()
	}
	home, err := os.MkdirTemp("", "pictures")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	program, err := os.ReadFile("bin/pcp")
	if err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(home, "bin"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(home, "bin", "pcp"), program, 0o755); err != nil {
		return err
	}
	os.Setenv("PATH", home+"/bin:"+os.Getenv("PATH"))
	pcp := "pcp"
	for _, load := range []string{"gzip -9 </dev/urandom >/dev/null", "sha256sum /dev/zero", "sort --parallel=1 /dev/urandom >/dev/null", "while :; do dd if=/dev/zero of=big bs=1M count=20 conv=fsync 2>/dev/null; sleep 1; done", "sleep 1000"} {
		cmd := exec.CommandContext(ctx, "sh", "-c", "ulimit -v 1000000; "+load)
		cmd.Dir = home
		if err := cmd.Start(); err != nil {
			return err
		}
		defer cmd.Process.Kill()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	env := append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "PCP_RUN_DIR="+home, "PCP_CONF=/dev/null", "PMCD_SOCKET="+home+"/s", "TERM=xterm-256color", "COLORTERM=", "LANG=C.UTF-8")
	up := exec.CommandContext(ctx, pcp, "up", "--port", "0", "--socket", home+"/s", "--dir", home+"/pcp", "--web-port", "0")
	up.Env = env
	var out strings.Builder
	up.Stdout = &out
	if err := up.Start(); err != nil {
		return err
	}
	defer func() {
		up.Process.Signal(os.Interrupt)
		up.Wait()
	}()
	time.Sleep(20 * time.Second) // of history
	for _, theme := range []string{"night", "day"} {
		name := map[string]string{"night": "dark", "day": "light"}[theme]
		screen, err := terminal(ctx, env, home, pcp+" top --theme "+theme)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "top-"+name+".svg"), screen.svg(name == "dark"), 0o644); err != nil {
			return err
		}
	}
	token, err := os.ReadFile(home + "/pcp/page-token")
	if err != nil {
		return err
	}
	page := regexp.MustCompile(`http://localhost:\d+/`).FindString(out.String())
	shots := exec.CommandContext(ctx, "bin/tools/shots", "-dir", dir)
	shots.Stdin = strings.NewReader(page + "?token=" + strings.TrimSpace(string(token)) + "#/overview?window=60")
	shots.Stderr = os.Stderr
	if err := shots.Run(); err != nil {
		return fmt.Errorf("shots: %w", err)
	}
	for _, name := range []string{"dark", "light"} {
		if err := photograph(ctx, home, page+"?token="+strings.TrimSpace(string(token))+"#/overview?window=300", name); err != nil {
			return err
		}
	}
	return nil
}

// photograph has Chromium show an address, and writes the picture.
func photograph(ctx context.Context, home, address, name string) error {
	file, err := filepath.Abs(filepath.Join(dir, "page-"+name+".png"))
	if err != nil {
		return err
	}
	scheme := map[string]string{"dark": "0", "light": "1"}[name]
	cmd := exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir="+filepath.Join(home, name),
		"--window-size=1100,640", "--blink-settings=preferredColorScheme="+scheme, "--virtual-time-budget=20000", "--screenshot="+file, address)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("chromium: %w\n%s", err, text)
	}
	return nil
}

// terminal runs a command in a terminal for some seconds, and returns the screen before its end.
func terminal(ctx context.Context, env []string, home, command string) (*screen, error) {
	log := filepath.Join(home, "typescript")
	cmd := exec.CommandContext(ctx, "script", "-q", "-f", "-c", fmt.Sprintf("stty cols %d rows %d; %s", columns, rows, command), log)
	cmd.Env = env
	keys, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	time.Sleep(8 * time.Second)
	text, err := os.ReadFile(log)
	keys.Write([]byte("q"))
	keys.Close()
	cmd.Wait()
	if err != nil {
		return nil, err
	}
	s := new(screen)
	_, rest, _ := strings.Cut(string(text), "\n") // the header of script
	s.write(rest)
	return s, nil
}

// A screen is a terminal with the few control sequences that pcp top writes.
type screen struct {
	cells    [rows][columns]cell
	row, col int
	look     look
	last     rune
}

type cell struct {
	r    rune
	look look
}

type look struct {
	fg, bg        string // colours of CSS, or ""
	bold, reverse bool
}

// write shows text.
func (s *screen) write(text string) {
	sequence := regexp.MustCompile(`^\x1b(?:\[([?<>=]?)([0-9;:]*)([A-Za-z@])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>78cM])`)
	for len(text) > 0 {
		if text[0] == '\x1b' {
			m := sequence.FindStringSubmatch(text)
			if m == nil {
				text = text[1:]
				continue
			}
			text = text[len(m[0]):]
			if m[1] == "" && m[3] != "" {
				s.control(m[3], numbers(m[2]))
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(text)
		text = text[n:]
		switch {
		case r == '\r':
			s.col = 0
		case r == '\n':
			s.row = min(s.row+1, rows-1)
		case r == '\b':
			s.col = max(s.col-1, 0)
		case r >= ' ':
			if s.row < rows && s.col < columns {
				s.cells[s.row][s.col] = cell{r, s.look}
			}
			s.col++
			s.last = r
		}
	}
}

func numbers(text string) []int {
	var ns []int
	for f := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ';' || r == ':' }) {
		n, _ := strconv.Atoi(f)
		ns = append(ns, n)
	}
	return ns
}

func (s *screen) control(kind string, ns []int) {
	at := func(i, otherwise int) int {
		if i < len(ns) && ns[i] > 0 {
			return ns[i]
		}
		return otherwise
	}
	switch kind {
	case "H", "f":
		s.row, s.col = min(at(0, 1), rows)-1, min(at(1, 1), columns)-1
	case "A":
		s.row = max(s.row-at(0, 1), 0)
	case "B":
		s.row = min(s.row+at(0, 1), rows-1)
	case "C":
		s.col = min(s.col+at(0, 1), columns-1)
	case "D":
		s.col = max(s.col-at(0, 1), 0)
	case "G":
		s.col = min(at(0, 1), columns) - 1
	case "d":
		s.row = min(at(0, 1), rows) - 1
	case "J":
		for r := s.row; r < rows; r++ {
			s.erase(r, 0)
		}
	case "K":
		s.erase(s.row, s.col)
	case "X":
		for c := s.col; c < min(s.col+at(0, 1), columns); c++ {
			s.cells[s.row][c] = cell{' ', look{bg: s.look.bg}}
		}
	case "b":
		for range at(0, 1) {
			if s.col < columns {
				s.cells[s.row][s.col] = cell{s.last, s.look}
			}
			s.col++
		}
	case "m":
		s.style(ns)
	}
}

func (s *screen) erase(row, from int) {
	for c := from; c < columns; c++ {
		s.cells[row][c] = cell{' ', look{bg: s.look.bg}}
	}
}

func (s *screen) style(ns []int) {
	if len(ns) == 0 {
		ns = []int{0}
	}
	for i := 0; i < len(ns); i++ {
		colour := func() string {
			switch {
			case i+2 < len(ns) && ns[i+1] == 5:
				i += 2
				return palette(ns[i])
			case i+4 < len(ns) && ns[i+1] == 2:
				i += 4
				return fmt.Sprintf("#%02x%02x%02x", ns[i-2], ns[i-1], ns[i])
			}
			return ""
		}
		switch n := ns[i]; {
		case n == 0:
			s.look = look{}
		case n == 1:
			s.look.bold = true
		case n == 22:
			s.look.bold = false
		case n == 7:
			s.look.reverse = true
		case n == 27:
			s.look.reverse = false
		case n >= 30 && n <= 37:
			s.look.fg = palette(n - 30)
		case n == 38:
			s.look.fg = colour()
		case n == 39:
			s.look.fg = ""
		case n >= 40 && n <= 47:
			s.look.bg = palette(n - 40)
		case n == 48:
			s.look.bg = colour()
		case n == 49:
			s.look.bg = ""
		case n >= 90 && n <= 97:
			s.look.fg = palette(n - 82)
		case n >= 100 && n <= 107:
			s.look.bg = palette(n - 92)
		}
	}
}

// palette returns one of the 256 colours of terminals.
func palette(n int) string {
	basic := []string{"#24292f", "#cf222e", "#2da44e", "#bf8700", "#0969da", "#8250df", "#1b7c83", "#d0d7de", "#6e7781", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#ffffff"}
	switch {
	case n < 16:
		return basic[n]
	case n < 232:
		level := func(i int) int {
			if i == 0 {
				return 0
			}
			return 55 + 40*i
		}
		n -= 16
		return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6))
	default:
		v := 8 + 10*(n-232)
		return fmt.Sprintf("#%02x%02x%02x", v, v, v)
	}
}

// svg draws the screen.
func (s *screen) svg(dark bool) []byte {
	const width, height, size = 8.43, 17, 14
	fore, back := "#1f2328", "#ffffff"
	if dark {
		fore, back = "#e6edf3", "#0d1117"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" font-family="ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace" font-size="%d">`+"\n", columns*width+20, rows*height+20, size)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="6" fill="%s" stroke="#8884"/>`+"\n", back)
	for r, row := range s.cells {
		for c := 0; c < columns; {
			end := c + 1
			for end < columns && row[end].look == row[c].look {
				end++
			}
			l := row[c].look
			fg, bg := l.fg, l.bg
			if fg == "" {
				fg = fore
			}
			if l.reverse {
				if bg == "" {
					bg = back
				}
				fg, bg = bg, fg
			}
			var text strings.Builder
			for _, x := range row[c:end] {
				text.WriteRune(max(x.r, ' '))
			}
			x, y := 10+float64(c)*width, 10+r*height
			if bg != "" {
				fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", x, y, float64(end-c)*width, height, bg)
			}
			if strings.TrimSpace(text.String()) != "" {
				weight := ""
				if l.bold {
					weight = ` font-weight="bold"`
				}
				fmt.Fprintf(&b, `<text x="%.1f" y="%d" fill="%s"%s textLength="%.1f" xml:space="preserve">%s</text>`+"\n", x, y+13, fg, weight, float64(end-c)*width, html.EscapeString(text.String()))
			}
			c = end
		}
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}
