package ask

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// A terminal shows a question and reads the answers.
type terminal struct {
	in, out *os.File
	w       io.Writer // out; answers from a file get no questions
	lines   chan string
	timeout <-chan time.Time
	err     error // why lines is closed, if not by the end of the input
}

// maxAnswer is how long a line of an answer may be.
const maxAnswer = 64 << 10

// errTimeout is what -timeout leads to.
var errTimeout = errors.New("no answer in time")

// openTerminal opens the terminal at path, by default that of this process. Path can also be a file with answers.
func openTerminal(path string) (*terminal, error) {
	if path == "none" {
		return nil, errors.New("PCP_CONSOLE is none")
	}
	path = cmp.Or(path, "/dev/tty")
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	t := &terminal{in: in, w: io.Discard, lines: make(chan string)}
	if !term.IsTerminal(int(in.Fd())) {
		return t, nil
	}
	if t.out, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
		in.Close()
		return nil, err
	}
	t.w = t.out
	return t, nil
}

func (t *terminal) close() {
	t.in.Close()
	if t.out != nil {
		t.out.Close()
	}
}

// size returns the columns and rows of the terminal.
func (t *terminal) size() (columns, rows int) {
	if t.out != nil {
		if w, h, err := term.GetSize(int(t.out.Fd())); err == nil && w > 0 && h > 0 {
			return w, h
		}
	}
	return 80, 24
}

// read sends the lines of the input to t.lines. A terminal cannot be read with a time limit everywhere, so the program does not wait
// for read at its end.
func (t *terminal) read(ctx context.Context) {
	defer close(t.lines)
	s := bufio.NewScanner(t.in)
	s.Buffer(nil, maxAnswer)
	for s.Scan() {
		select {
		case t.lines <- s.Text():
		case <-ctx.Done():
			return
		}
	}
	t.err = s.Err()
}

// line asks for one line. It returns io.EOF if there is none.
func (t *terminal) line(ctx context.Context, prompt string) (string, error) {
	if _, err := io.WriteString(t.w, prompt); err != nil {
		return "", err
	}
	select {
	case line, ok := <-t.lines:
		if !ok {
			return "", cmp.Or(t.err, io.EOF)
		}
		return line, nil
	case <-t.timeout:
		io.WriteString(t.w, "\n")
		return "", errTimeout
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// An answer is what the user chose.
type answer struct {
	text   string // the label of the button, or the text typed
	status int
	closed bool // the user chose nothing, and ended the question
}

// ask shows the question and returns the answer.
func (q *question) ask(ctx context.Context, t *terminal) (answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if q.timeout > 0 {
		timer := time.NewTimer(q.timeout)
		defer timer.Stop()
		t.timeout = timer.C
	}
	go t.read(ctx)
	a, err := q.answer(ctx, t)
	if errors.Is(err, io.EOF) {
		io.WriteString(t.w, "\n")
		return answer{closed: true}, nil
	}
	return a, err
}

func (q *question) answer(ctx context.Context, t *terminal) (answer, error) {
	text := strings.Join(q.message, "\n")
	if err := q.show(ctx, t); err != nil {
		return answer{}, err
	}
	if q.input {
		var err error
		if text, err = q.typed(ctx, t, text); err != nil {
			return answer{}, err
		}
	}
	i, err := q.press(ctx, t)
	if err != nil {
		return answer{}, err
	}
	b := q.buttons[i]
	a := answer{text: b.label, status: b.status}
	if q.input && i == q.preferred {
		a.text = text
	}
	return a, nil
}

// typed asks for a text that is by default text.
func (q *question) typed(ctx context.Context, t *terminal, text string) (string, error) {
	if len(q.message) <= 1 {
		prompt := "Text: "
		if text != "" {
			prompt = fmt.Sprintf("Text [%s]: ", visible(text))
		}
		line, err := t.line(ctx, prompt)
		return cmp.Or(line, text), err
	}
	var lines []string
	prompt := "New text, ended by a line with a period; Enter leaves it as it is:\n"
	for {
		line, err := t.line(ctx, prompt)
		switch {
		case err != nil:
			return "", err
		case line == "" && lines == nil:
			return text, nil
		case line == ".":
			return strings.Join(lines, "\n"), nil
		case len(lines) >= maxFile/80:
			return "", errors.New("too many lines of text")
		}
		lines, prompt = append(lines, line), ""
	}
}

// press asks for a button and returns its index. The only button needs no question if a text was asked for.
func (q *question) press(ctx context.Context, t *terminal) (int, error) {
	if q.input && len(q.buttons) == 1 {
		return 0, nil
	}
	var b strings.Builder
	enter := q.preferred
	if len(q.buttons) == 1 {
		enter = 0
		fmt.Fprintf(&b, "Enter for %s: ", visible(q.buttons[0].label))
	} else {
		for i, button := range q.buttons {
			if i > 0 {
				b.WriteString("  ")
			}
			fmt.Fprintf(&b, "[%d] %s", i+1, visible(button.label))
		}
		b.WriteString("\nNumber or label")
		if enter >= 0 {
			fmt.Fprintf(&b, ", Enter for %s", visible(q.buttons[enter].label))
		}
		b.WriteString(": ")
	}
	prompt := b.String()
	for {
		line, err := t.line(ctx, prompt)
		if err != nil {
			return 0, err
		}
		line = strings.TrimSpace(line)
		if line == "" && enter >= 0 {
			return enter, nil
		}
		i, wrong := q.find(line)
		if wrong == "" {
			return i, nil
		}
		if t.out == nil { // the answers are in a file
			return 0, errors.New(wrong)
		}
		prompt = wrong + "\n" + b.String()
	}
}

// find returns the button that an answer means: by its label, the beginning of one label, or its number. Else it returns a
// message.
func (q *question) find(line string) (i int, wrong string) {
	if line == "" {
		return 0, "There is no default button."
	}
	exact, begin, begins := -1, -1, 0
	for i, b := range q.buttons {
		switch {
		case b.label == line:
			return i, ""
		case strings.EqualFold(b.label, line):
			exact = i
		case len(b.label) > len(line) && strings.EqualFold(b.label[:len(line)], line):
			begin = i
			begins++
		}
	}
	n, err := strconv.Atoi(line)
	switch {
	case exact >= 0:
		return exact, ""
	case err == nil && n >= 1 && n <= len(q.buttons):
		return n - 1, ""
	case begins == 1:
		return begin, ""
	case begins > 1:
		return 0, fmt.Sprintf("More than one button begins with %s.", visible(line))
	}
	return 0, fmt.Sprintf("There is no button %s.", visible(line))
}

// show prints the message. It waits after each page of a long one, unless the message is to be clipped.
func (q *question) show(ctx context.Context, t *terminal) error {
	columns, rows := t.size()
	message := q.message
	if q.input && len(message) <= 1 {
		message = nil // it is the default of the text
	}
	lines := q.layout(message, columns)
	page := max(rows-3, 3) // the buttons and the question need two lines
	if q.clip && len(lines) > page {
		last := lines[len(lines)-1]
		lines = lines[:page]
		if q.frame {
			lines[page-1] = last
		}
	}
	for i, line := range lines {
		if i > 0 && i%page == 0 {
			if _, err := t.line(ctx, "-- Enter for more --"); err != nil {
				return err
			}
		}
		if _, err := io.WriteString(t.w, line+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// layout returns the lines of the message with its frame, for a terminal of some columns.
func (q *question) layout(message []string, columns int) []string {
	frame := 0
	if q.frame {
		frame = 4
	}
	var text []string
	for _, line := range message {
		text = fold(text, visible(line), max(columns-1-frame, 10))
	}
	title := visible(q.heading())
	if runes := []rune(title); len(runes) > max(columns-1-frame, 10) {
		title = string(runes[:max(columns-1-frame, 10)])
	}
	width := utf8.RuneCountInString(title)
	for _, line := range text {
		width = max(width, utf8.RuneCountInString(line))
	}
	pad := func(s, with string) string { return s + strings.Repeat(with, width-utf8.RuneCountInString(s)) }
	var lines []string
	if q.frame {
		lines = append(lines, "+-"+pad(title, "-")+"-+")
		for _, line := range text {
			lines = append(lines, "| "+pad(line, " ")+" |")
		}
		lines = append(lines, "+"+strings.Repeat("-", width+2)+"+")
	} else {
		lines = append(append(lines, title), text...)
	}
	if indent := (columns - width - frame) / 2; q.center && indent > 0 {
		for i := range lines {
			lines[i] = strings.Repeat(" ", indent) + lines[i]
		}
	}
	return lines
}

// fold appends line to lines, in pieces of at most width characters, broken at spaces if possible.
func fold(lines []string, line string, width int) []string {
	runes := []rune(line)
	for len(runes) > width {
		n := width
		for n > 0 && runes[n] != ' ' {
			n--
		}
		if n == 0 {
			n = width
			lines, runes = append(lines, string(runes[:n])), runes[n:]
		} else {
			lines, runes = append(lines, string(runes[:n])), runes[n+1:]
		}
	}
	return append(lines, string(runes))
}

// visible returns a text for the terminal: tabs become spaces, and characters that do more than show themselves question marks.
func visible(s string) string {
	s = strings.ReplaceAll(s, "\t", "        ")
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || cli.Hidden(r) {
			return '?'
		}
		return r
	}, s)
}
