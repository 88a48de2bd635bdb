package ask

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A question is what the arguments ask for.
type question struct {
	message []string
	title   string
	icon    string
	file    string
	center  bool
	frame   bool
	clip    bool // show no more lines than fit on the terminal

	buttons   []button
	preferred int // the default button, -1 if there is none
	input     bool
	print     bool
	timeout   time.Duration // 0: none
	help      bool
	window    []string // options that only a window could honour
}

// A button is one answer.
type button struct {
	label  string
	status int
}

// Limits of a message.
const (
	maxFile  = 1 << 20 // bytes of a file to show
	maxCount = 1000    // buttons
)

// firstStatus is one below the exit status of the first button of -buttons without one.
const firstStatus = 100

// icons are the types of -icon, with what a terminal shows in front of the title.
var icons = map[string]string{
	"info": "", "error": "error: ", "action": "error: ", "critical": "error: ",
	"question": "? ", "warning": "warning: ", "archive": "archive: ", "host": "host: ",
}

// withValue are the options that have an argument.
var withValue = []string{"b", "B", "t", "buttons", "default", "file", "icon", "header", "timeout", "font", "geometry"}

// parse reads arguments. As in C, the first argument that is not an option begins the message, and so does an unknown option if lax is
// set.
func parse(args []string, print, lax bool) (*question, error) {
	q := &question{title: "Query", frame: true, preferred: -1, print: print}
	var useSlider bool
	var preferred *string
	next := firstStatus
	for len(args) > 0 {
		arg := args[0]
		name, value, err := "", "", error(nil)
		if word, ok := strings.CutPrefix(arg, "-"); ok && word != "" {
			long, double := strings.CutPrefix(word, "-")
			name = long
			if double {
				if n, v, ok := strings.Cut(long, "="); ok && slices.Contains(withValue, n) {
					name, value = n, v
					args = slices.Insert(slices.Clone(args), 1, v)
				}
			}
			if double && long == "" {
				q.add(args[1:])
				break
			}
		}
		rest := args[1:]
		if slices.Contains(withValue, name) {
			if len(rest) == 0 {
				return q, fmt.Errorf("the -%s option requires an argument", name)
			}
			value, rest = rest[0], rest[1:]
		}
		switch name {
		case "c", "center":
			q.center = true
		case "nearmouse", "font", "geometry":
			q.window = append(q.window, name)
		case "b", "B":
			if value == "" {
				break // as documented: no button in this place
			}
			if name == "B" {
				q.preferred = len(q.buttons)
			}
			q.buttons = append(q.buttons, button{value, 0})
		case "buttons":
			err = q.addButtons(value, &next)
		case "default":
			preferred = &value
		case "t":
			if q.file != "" {
				return q, errors.New("the -file and -t options are incompatible")
			}
			q.message = append(q.message, value)
		case "file":
			if len(q.message) > 0 {
				return q, errors.New("the -file and -t options are incompatible")
			}
			if value == "" {
				return q, errors.New("-file: the name is empty")
			}
			q.file = value
		case "icon":
			symbol, ok := icons[value]
			if !ok {
				return q, fmt.Errorf("unknown icon type - %s", value)
			}
			q.icon = symbol
		case "header":
			q.title = value
		case "input":
			q.input = true
		case "noframe":
			q.frame = false
		case "useslider":
			useSlider = true
		case "noslider":
			q.clip = true
		case "timeout":
			seconds, bad := strconv.ParseInt(value, 10, 32)
			if bad != nil || seconds <= 0 {
				return q, fmt.Errorf("'%s' is not a positive non-zero timeout", value)
			}
			q.timeout = time.Duration(seconds) * time.Second
		case "print":
			q.print = true
		case "noprint":
			q.print = false
		case "exclusive":
		case "?", "h", "help":
			q.help = true
		default:
			if name != "" && !lax {
				return q, fmt.Errorf("unknown option %s; a message that begins with a dash follows --", arg)
			}
			q.add(args)
			rest = nil
		}
		if err != nil {
			return q, err
		}
		if len(q.buttons) > maxCount {
			return q, fmt.Errorf("more than %d buttons", maxCount)
		}
		args = rest
	}
	if useSlider && q.clip {
		return q, errors.New("the -useslider and -noslider options are incompatible")
	}
	if preferred != nil {
		for i, b := range q.buttons {
			if b.label == *preferred {
				q.preferred = i
			}
		}
	}
	if len(q.buttons) == 0 {
		q.buttons, q.preferred = []button{{"Continue", 0}}, 0
	}
	return q, nil
}

// add makes words a line of the message.
func (q *question) add(words []string) {
	if len(words) > 0 {
		q.message = append(q.message, strings.Join(words, " "))
	}
}

// addButtons adds the buttons of a list. As in C, only buttons without a status count for the next default.
func (q *question) addButtons(list string, next *int) error {
	for _, pair := range strings.Split(list, ",") {
		label, code, _ := strings.Cut(pair, ":")
		if label == "" {
			continue
		}
		status := 0
		if code == "" {
			*next++
			status = *next
		} else {
			n, err := strconv.ParseUint(code, 10, 8)
			if err != nil {
				return fmt.Errorf("-buttons: %s: not an exit status from 0 to 255: %s", label, code)
			}
			status = int(n)
		}
		if status > 255 {
			return fmt.Errorf("-buttons: %s: the exit status %d is above 255", label, status)
		}
		q.buttons = append(q.buttons, button{label, status})
	}
	return nil
}

// readFile reads the lines of -file.
func (q *question) readFile(stdin io.Reader) error {
	if q.file == "" {
		return nil
	}
	r, name := stdin, "standard input"
	if q.file != "-" {
		f, err := os.Open(q.file)
		if err != nil {
			return err
		}
		defer f.Close()
		r, name = f, q.file
	}
	limited := &io.LimitedReader{R: r, N: maxFile + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, maxFile+1)
	for lines.Scan() {
		q.message = append(q.message, lines.Text())
	}
	if limited.N <= 0 {
		return fmt.Errorf("%s: more than %d bytes to show", name, maxFile)
	}
	return lines.Err()
}

// heading returns the title with the kind of message.
func (q *question) heading() string { return q.icon + cmp.Or(q.title, "Query") }
