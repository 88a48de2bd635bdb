package timectl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/timecontrol"
)

// keyHelp is what the key ? prints.
const keyHelp = `space  play, or stop          b           play backward
->  n  a step forward         <-  p       a step back
PgDn   ten steps forward      PgUp        ten steps back
Home   the first time         End         the last time
+  -   twice, or half as fast ]  [        steps twice, or half as long
f      as fast as tools can   Tab         archives, or live values
:      a command, such as "goto @10:00"   q  quit, and end the tools
`

// keyLines has the commands of keys.
var keyLines = map[string]string{
	" ": "pause", "b": "back", "n": "next", "l": "next", "right": "next", "p": "prev", "h": "prev", "left": "prev",
	"pgdn": "skip 10", "pgup": "skip -10", "home": "first", "end": "last", "+": "faster", "=": "faster", "-": "slower",
	"]": "longer", "[": "shorter", "f": "hurry", "\t": "other", "q": "quit", "\x03": "quit", "\x04": "quit",
}

// redraw is the shortest time between two drawings of the line.
const redraw = 100 * time.Millisecond

// maxLine is the largest length of a command that is typed.
const maxLine = 512

// A keyboard controls by single keys of a terminal, and shows the position in its last line.
type keyboard struct {
	c       *controller
	columns func() int
	w       io.Writer
	typing  bool
	line    []rune
	note    string // the answer to the last key
}

// useKeys reads keys until ctx is done or one of them is to quit.
func (c *controller) useKeys(ctx context.Context, in *os.File, quit func()) error {
	defer quit()
	old, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return err
	}
	defer term.Restore(int(in.Fd()), old)
	k := &keyboard{c: c, columns: c.env.Columns, w: c.env.Editor()}
	c.out = func(s string) { k.note = s }
	chunks := make(chan []byte)
	// Reading a terminal cannot be interrupted, so the program does not wait for it.
	go func() {
		defer close(chunks)
		for {
			b := make([]byte, 256)
			n, err := in.Read(b)
			if n > 0 {
				select {
				case chunks <- b[:n]:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	k.print("Keys: space plays and stops, arrows step, ? lists all.\n")
	for {
		_, changed := c.bell.state()
		k.draw()
		select {
		case b, ok := <-chunks:
			if !ok || k.press(b) {
				k.print("")
				return nil
			}
			continue
		case <-ctx.Done():
			k.print("")
			return nil
		case <-changed:
		}
		select {
		case b, ok := <-chunks:
			if !ok || k.press(b) {
				k.print("")
				return nil
			}
		case <-time.After(redraw):
		case <-ctx.Done():
		}
	}
}

// print prints lines above the last one.
func (k *keyboard) print(s string) {
	fmt.Fprintf(k.w, "\r\x1b[K%s", strings.ReplaceAll(s, "\n", "\r\n"))
}

// draw draws the last line.
func (k *keyboard) draw() {
	if k.note != "" {
		for line := range strings.Lines(k.note) {
			k.print(visible(strings.TrimSuffix(line, "\n")) + "\n")
		}
		k.note = ""
	}
	columns := 80
	if k.columns != nil {
		if n := k.columns(); n > 0 {
			columns = n
		}
	}
	text := ":" + string(k.line)
	if !k.typing {
		text = statusLine(k.c.status(), columns-1)
	}
	if runes := []rune(visible(text)); len(runes) > columns-1 {
		text = string(runes[:max(columns-1, 0)])
	}
	fmt.Fprintf(k.w, "\r\x1b[K%s", visible(text))
}

// press handles the bytes of keys, and reports whether one was to quit.
func (k *keyboard) press(b []byte) (quit bool) {
	for len(b) > 0 {
		var key string
		key, b = nextKey(b)
		switch {
		case k.typing:
			k.edit(key)
			if k.typing || len(k.line) == 0 {
				continue
			}
			if k.do(string(k.line)) {
				return true
			}
		case key == ":":
			k.typing, k.line = true, nil
		case key == "?":
			k.note = keyHelp
		case keyLines[key] != "":
			if k.do(keyLines[key]) {
				return true
			}
		}
	}
	return false
}

func (k *keyboard) do(line string) (quit bool) {
	k.c.follow()
	err := k.c.do(strings.TrimSpace(line))
	if errors.Is(err, errQuit) {
		return true
	}
	if err != nil {
		k.note = err.Error()
	}
	return false
}

// edit changes the line that is typed. The Enter key ends it, and the keys Escape and ctrl-C drop it.
func (k *keyboard) edit(key string) {
	switch key {
	case "\r", "\n":
		k.typing = false
	case "esc", "\x03", "\x04":
		k.typing, k.line = false, nil
	case "\x7f", "\b":
		if len(k.line) == 0 {
			k.typing = false
		} else {
			k.line = k.line[:len(k.line)-1]
		}
	default:
		r, size := utf8.DecodeRuneInString(key)
		if size == len(key) && r >= ' ' && r != utf8.RuneError && len(k.line) < maxLine {
			k.line = append(k.line, r)
		}
	}
}

// sequences are what keys of terminals send after escape.
var sequences = map[string]string{
	"[A": "up", "[B": "down", "[C": "right", "[D": "left", "OC": "right", "OD": "left", "OA": "up", "OB": "down",
	"[5~": "pgup", "[6~": "pgdn", "[H": "home", "[F": "end", "OH": "home", "OF": "end", "[1~": "home", "[4~": "end", "[7~": "home", "[8~": "end",
}

// nextKey returns the name of the first key of b, a character or a word such as "left", and the bytes after it. An escape sequence
// that has no name is the key "".
func nextKey(b []byte) (key string, rest []byte) {
	if b[0] != 0x1b {
		_, n := utf8.DecodeRune(b)
		return string(b[:n]), b[n:]
	}
	if len(b) == 1 || b[1] != '[' && b[1] != 'O' {
		return "esc", b[1:]
	}
	for n := 2; n < len(b); n++ {
		if b[n] >= '@' && b[n] <= '~' {
			return sequences[string(b[1:n+1])], b[n+1:]
		}
	}
	return "", nil
}

// statusLine describes a control in a line of at most width characters.
func statusLine(st timecontrol.Status, width int) string {
	name, position := "live", clock(st)
	if st.Source == timecontrol.Archive {
		name = "archive"
		if !described(st) {
			position = "no tool has come yet"
		}
	}
	state := map[timecontrol.State]string{timecontrol.Stopped: "stopped", timecontrol.Forward: "playing", timecontrol.Backward: "backward"}[st.State]
	if st.Mode == timecontrol.StepMode {
		state = "stopped"
	}
	speed := fmt.Sprintf("speed %g", st.Speed)
	switch {
	case st.Source == timecontrol.Host:
		speed = "live"
	case st.Mode == timecontrol.FastMode:
		speed = "fast"
	}
	tools := fmt.Sprintf("%d tools", st.Followers)
	if st.Followers == 1 {
		tools = "1 tool"
	}
	line := fmt.Sprintf("%s  %s  %s", name, state, position)
	tail := fmt.Sprintf("  steps %v  %s  %s", st.Delta, speed, tools)
	if room := width - len(line) - len(tail) - 4; st.Source == timecontrol.Archive && described(st) && room >= 10 {
		line += "  " + bar(st, min(room, 40))
	}
	return line + tail
}

// bar draws where in the archives a control is.
func bar(st timecontrol.Status, width int) string {
	width -= 2
	at := 0
	if whole := st.End.Sub(st.Start); whole > 0 {
		at = int(float64(width-1) * float64(st.Position.Sub(st.Start)) / float64(whole))
	}
	at = min(max(at, 0), width-1)
	return "[" + strings.Repeat("=", at) + "|" + strings.Repeat("-", width-1-at) + "]"
}

// visible returns a text for the terminal: characters that do more than show themselves become question marks.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || cli.Hidden(r) {
			return '?'
		}
		return r
	}, s)
}
