package ie

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmie"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/internal/console"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/pcptime"
)

// maxCommand limits the length of a command.
const maxCommand = 8192

const prompt = "pmie> "

// menu is what h prints. Scripts compare it.
const menu = `pmie debugger commands

  f [file-name]      - load expressions from given file or stdin
  l [expr-name]      - list named expression or all expressions
  r [interval]       - run for given or default interval
  S time-spec        - set start time for run
  T time-spec        - set default interval for run command
  v [expr-name]      - print subexpression used for %h, %i and
                       %v bindings
  h or ?             - print this menu of commands
  q                  - quit

`

// A dialogue does the commands of -d.
type dialogue struct {
	set *settings
	env *cli.Env
	o   *source.Options
	e   *pmie.Engine
	in  commands

	start  pcp.Timestamp // of the next run
	length time.Duration // of a run for which none is given
	always bool          // there is no length: the run does not end
}

// interact does the commands of standard input.
func (set *settings) interact(ctx context.Context, env *cli.Env, o *source.Options, e *pmie.Engine, w pcptime.Window) error {
	d := &dialogue{set: set, env: env, o: o, e: e, start: w.Origin}
	if editor := console.NewEditor(env.Stdin, env.Editor()); editor != nil {
		d.in.editor = editor
	}
	d.in.file = bufio.NewReader(env.Stdin)
	if d.always = w.Finish.Compare(pcptime.Never) >= 0; !d.always {
		d.length = w.Finish.Time().Sub(w.Origin.Time())
	}
	return d.talk(ctx)
}

// talk does commands until there are no more, or one ends it.
func (d *dialogue) talk(ctx context.Context) error {
	d.printf("Performance Co-Pilot Inference Engine (pmie), Version %s\n\n%s", d.env.Version, menu)
	for {
		if d.in.editor == nil {
			d.printf(prompt)
		}
		line, err := d.in.next(ctx)
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, errTooLong):
			d.errorf("%s: error - a command has at most %d characters", d.env.ProgName(), maxCommand)
			continue
		case err != nil:
			return err
		}
		if quit, err := d.command(ctx, line); quit || err != nil {
			return err
		}
	}
}

func (d *dialogue) printf(format string, args ...any) { fmt.Fprintf(d.set.cfg.Out, format, args...) }

func (d *dialogue) errorf(format string, args ...any) {
	fmt.Fprintln(d.set.cfg.Err, strings.TrimSuffix(fmt.Sprintf(format, args...), "\n"))
}

// command does the command of a line, which is a character and perhaps an argument. An error ends the program.
func (d *dialogue) command(ctx context.Context, line string) (quit bool, err error) {
	if line[0] <= ' ' || line[0] > '~' {
		return false, nil
	}
	arg := strings.Trim(line[1:], ctext.Space)
	switch line[0] {
	case 'f':
		return false, d.load(ctx, arg)
	case 'l':
		if !d.e.Print(d.set.cfg.Out, arg) {
			d.printf("%s: error - rule \"%s\" not defined\n", d.env.ProgName(), arg)
		}
	case 'v':
		if !d.e.PrintBindings(d.set.cfg.Out, arg) {
			d.printf("%s: error - rule '%s' not defined\n", d.env.ProgName(), arg)
		}
	case 'r':
		if arg == "" || d.interval(arg) {
			return false, d.run(ctx)
		}
	case 'S':
		d.setStart(arg)
	case 'T':
		if d.given(arg) {
			d.interval(arg)
		}
	case 'q':
		return true, nil
	default:
		d.printf("%s", menu)
	}
	return false, nil
}

// given reports whether a command has the argument that it needs.
func (d *dialogue) given(arg string) bool {
	if arg == "" {
		d.errorf("%s: error - argument required", d.env.ProgName())
	}
	return arg != ""
}

// interval sets how long a run is, and reports whether that is an interval.
func (d *dialogue) interval(arg string) bool {
	length, err := pcptime.ParseInterval(arg)
	if err != nil {
		d.errorf("%v", err)
		return false
	}
	d.length, d.always = length, false
	return true
}

func (d *dialogue) setStart(arg string) {
	if !d.given(arg) {
		return
	}
	_, last := d.e.Bounds()
	start, err := pcptime.ParseTime(arg, d.start, last, d.set.cfg.Zone)
	if err != nil {
		d.errorf("%v", err)
		return
	}
	d.start = start
}

// failed returns the error that ends the program: at a terminal the error of a command is only
// reported, and does not.
func (d *dialogue) failed(ctx context.Context, err error) error {
	if err != nil && d.in.editor != nil && ctx.Err() == nil {
		d.errorf("%v", err)
		return nil
	}
	return err
}

// load reads the rules of a file, or those that follow on standard input.
func (d *dialogue) load(ctx context.Context, name string) error {
	var text []byte
	if name == "" {
		var err error
		if text, err = d.in.rest(ctx); err != nil {
			return err
		}
	}
	if _, err := d.set.loadFile(ctx, d.env, d.e, bytes.NewReader(text), name); err != nil {
		return d.failed(ctx, err)
	}
	if name != "" {
		d.o.Args = append(d.o.Args, name)
	}
	return nil
}

// run evaluates the rules: over archives from the start that was set, else from now.
func (d *dialogue) run(ctx context.Context) error {
	if d.set.archives == nil {
		d.start, _ = d.e.Bounds()
	}
	stop := pcptime.Never
	if !d.always {
		stop = pcp.TimestampOf(d.start.Time().Add(d.length))
	}
	d.e.Window(d.start, stop)
	return d.failed(ctx, d.set.evaluateRules(ctx, d.env, d.o, d.e))
}

// commands reads the lines of a terminal, or of a file.
type commands struct {
	editor editor // nil if it is a file
	file   *bufio.Reader
}

// An editor is a [console.Editor].
type editor interface {
	ReadLine(prompt string) (string, error)
	Restore()
}

var errTooLong = errors.New("line is too long")

// next returns the next line that is not empty, without blanks around it. A last line without an end does not count.
func (c *commands) next(ctx context.Context) (string, error) {
	return await(ctx, c, func() (string, error) {
		for {
			line, err := c.line(prompt)
			if line = strings.Trim(line, ctext.Space); line != "" || err != nil {
				return line, err
			}
		}
	})
}

func (c *commands) line(prompt string) (string, error) {
	if c.editor != nil {
		line, err := c.editor.ReadLine(prompt)
		if errors.Is(err, console.ErrInterrupted) {
			err = &caught{number: sigInt}
		}
		return line, err
	}
	var line []byte
	for {
		part, err := c.file.ReadSlice('\n')
		if len(line) <= maxCommand {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case err != nil:
			return "", err
		case len(line) > maxCommand:
			return "", errTooLong
		default:
			return string(line), nil
		}
	}
}

// rest returns all that follows: at a terminal until Ctrl-D.
func (c *commands) rest(ctx context.Context) ([]byte, error) {
	return await(ctx, c, func() ([]byte, error) {
		if c.editor == nil {
			return io.ReadAll(c.file)
		}
		var text []byte
		for {
			line, err := c.line("")
			if err == io.EOF {
				return text, nil
			}
			if err != nil {
				return nil, err
			}
			text = append(append(text, line...), '\n')
		}
	})
}

// await returns the result of read, or the cause of the end of ctx. A read of standard input
// cannot be ended: then it continues until the process ends.
func await[T any](ctx context.Context, c *commands, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	ch := make(chan result, 1)
	go func() {
		value, err := read()
		ch <- result{value, err}
	}()
	select {
	case r := <-ch:
		return r.value, r.err
	case <-ctx.Done():
		if c.editor != nil {
			c.editor.Restore()
		}
		var none T
		return none, context.Cause(ctx)
	}
}
