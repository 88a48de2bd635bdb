package atop

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/screen"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/ctext"
)

// settings are the settings that an atoprc changes.
type settings struct {
	*screen.Settings
	interval     time.Duration
	proportional bool
	waitChannels bool
}

// maxLine is the maximum length of lines of an atoprc in C; the rest is the next line.
const maxLine = 255

// A tag is a setting in an atoprc.
type tag struct {
	name string
	set  func(s *settings, value string) error
}

// tags are all tags except those of lines, which are in package screen, and those for resources
// without PCP metrics.
func tags() []tag {
	number := func(to func(s *settings) *int) func(name string) tag {
		return func(name string) tag {
			return tag{name, func(s *settings, v string) (err error) {
				*to(s), err = positive(name, v)
				return err
			}}
		}
	}
	share := func(name string, to func(s *settings) *int) tag {
		return tag{name, func(s *settings, v string) error {
			n, err := positive(name, v)
			if err == nil && n > 100 {
				err = fmt.Errorf("atoprc: %s value %d not in range 0-100", name, n)
			}
			*to(s) = n
			return err
		}}
	}
	color := func(name string, to func(s *settings) *int) tag {
		return tag{name, func(s *settings, v string) error {
			if *to(s) = slices.Index(colorNames, v); *to(s) < 0 {
				return fmt.Errorf("atoprc - invalid color used: %s\nsupported colors: red green yellow blue magenta cyan black white", v)
			}
			return nil
		}}
	}
	nothing := func(s *settings) *int { return new(int) }
	return []tag{
		{"flags", func(s *settings, v string) error { s.flags(v); return nil }},
		{"interval", func(s *settings, v string) error {
			n, err := positive("interval", v)
			s.interval = time.Duration(n) * time.Second
			return err
		}},
		number(func(s *settings) *int { return &s.Width })("linelen"),
		{"username", func(s *settings, v string) error { return s.selectUsers("username", v) }},
		{"procname", func(s *settings, v string) (err error) {
			if s.Select.Name, err = regexp.Compile(v); err != nil {
				err = fmt.Errorf("atoprc - procname: invalid regular expression %s", v)
			}
			return err
		}},
		number(func(s *settings) *int { return &s.Max.CPU })("maxlinecpu"),
		number(func(s *settings) *int { return &s.Max.GPU })("maxlinegpu"),
		number(func(s *settings) *int { return &s.Max.Disk })("maxlinedisk"),
		number(func(s *settings) *int { return &s.Max.Array })("maxlinemdd"),
		number(func(s *settings) *int { return &s.Max.Volume })("maxlinelvm"),
		number(func(s *settings) *int { return &s.Max.Interface })("maxlineintf"),
		number(func(s *settings) *int { return &s.Max.Port })("maxlineifb"),
		number(func(s *settings) *int { return &s.Max.Mount })("maxlinenfsm"),
		number(nothing)("maxlinecont"), // OpenVZ containers, of which PCP has no metrics
		number(func(s *settings) *int { return &s.Max.Node })("maxlinenuma"),
		number(func(s *settings) *int { return &s.Max.Cache })("maxlinellc"),
		color("colorinfo", func(s *settings) *int { return &s.Palette.Info }),
		color("coloralmost", func(s *settings) *int { return &s.Palette.Almost }),
		color("colorcritical", func(s *settings) *int { return &s.Palette.Critical }),
		color("colorthread", func(s *settings) *int { return &s.Palette.Thread }),
		share("cpucritperc", func(s *settings) *int { return &s.Limits.CPU }),
		share("gpucritperc", func(s *settings) *int { return &s.Limits.GPU }),
		share("memcritperc", func(s *settings) *int { return &s.Limits.Memory }),
		share("swpcritperc", func(s *settings) *int { return &s.Limits.Swap }),
		share("dskcritperc", func(s *settings) *int { return &s.Limits.Disk }),
		share("netcritperc", func(s *settings) *int { return &s.Limits.Net }),
		number(func(s *settings) *int { return &s.Limits.SwapOuts })("swoutcritsec"),
		share("almostcrit", func(s *settings) *int { return &s.Limits.Almost }),
	}
}

// colorNames are the colors of a terminal, by number.
var colorNames = []string{"black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"}

// positive returns the number of a setting.
func positive(name, value string) (int, error) {
	n, err := strconv.Atoi("0" + value)
	if !numeric(value) || err != nil || n > 1<<31-1 {
		return 0, fmt.Errorf("atoprc: %s value %s not a (positive) numeric", name, value)
	}
	return n, nil
}

// selectUsers selects the processes of users whose names match, or of the user with a
// number.
func (s *settings) selectUsers(name, pattern string) error {
	list, err := matchUsers(pattern)
	if err != nil {
		return fmt.Errorf("atoprc - %s: invalid regular expression %s", name, pattern)
	}
	if len(list) == 0 {
		return fmt.Errorf("atoprc - %s: user-names matching %s do not exist", name, pattern)
	}
	s.Select.Users = list
	return nil
}

// matchUsers returns the numbers of users whose names match, or pattern itself if it is a
// number.
func matchUsers(pattern string) ([]int32, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	var list []int32
	if f, err := os.Open("/etc/passwd"); err == nil {
		defer f.Close()
		for in := bufio.NewScanner(f); in.Scan(); {
			words := strings.Split(in.Text(), ":")
			if len(words) > 2 && re.MatchString(words[0]) {
				if n, err := strconv.ParseInt(words[2], 10, 32); err == nil {
					list = append(list, int32(n))
				}
			}
		}
	} else if u, err := user.Current(); err == nil && re.MatchString(u.Username) {
		if n, err := strconv.ParseInt(u.Uid, 10, 32); err == nil {
			list = append(list, int32(n))
		}
	}
	if n, err := strconv.ParseInt(pattern, 10, 32); len(list) == 0 && numeric(pattern) && err == nil {
		list = append(list, int32(n))
	}
	return list, nil
}

// flags handles the flags of an atoprc.
func (s *settings) flags(list string) {
	for _, f := range []byte(list) {
		switch f {
		case 'a':
			s.All = true
		case '1':
			s.Average = true
		case 'f':
			s.Fixed = true
		case 'F':
			s.NoSort = true
		case 'y':
			s.Threads = true
		case 'Y':
			s.SortThreads = true
		case 'x':
			s.Colors = false
		case 'R':
			s.proportional = true
		case 'W':
			s.waitChannels = true
		case 'G':
			s.NoExited = true
		default:
			s.SetList(f)
		}
	}
}

// readSettings reads /etc/atoprc and ~/.atoprc. SarFlags gets their flags for pcp-atopsar. It prints errors and
// returns the exit status, 0 if there is no error at which C would exit.
func readSettings(env *cli.Env, sarFlags func(string)) (*settings, int) {
	s := &settings{Settings: screen.NewSettings(env.Seven()), interval: 10 * time.Second}
	known := append(tags(), tag{"atopsarflags", func(_ *settings, v string) error {
		if sarFlags != nil {
			sarFlags(v)
		}
		return nil
	}})
	files := []string{"/etc/atoprc"}
	if home := env.Getenv("HOME"); home != "" {
		files = append(files, filepath.Join(home, ".atoprc"))
	}
	for i, path := range files {
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		err = s.read(env, f, path, i == 0, known)
		f.Close()
		if err != nil {
			fmt.Fprintln(env.Stderr, err)
			return nil, 1
		}
	}
	return s, 0
}

// read reads one file.
func (s *settings) read(env *cli.Env, f io.Reader, path string, system bool, known []tag) error {
	in := bufio.NewReader(f)
	for number := 1; ; number++ {
		text, err := in.ReadString('\n')
		if text == "" || err != nil && len(text) > maxLine {
			return nil
		}
		name, value := cutTag(strings.TrimSuffix(text, "\n"))
		switch {
		case name == "" || name[0] == '#':
			continue
		case value == "":
			return fmt.Errorf("%s: syntax error line %d (no value specified)", path, number)
		}
		if name == "pacctdir" {
			if !system {
				fmt.Fprintf(env.Stderr, "%s: warning at line %2d - tag name %s not allowed in private atoprc\n", path, number, name)
			}
			continue // C keeps accounts elsewhere too
		}
		if i := slices.IndexFunc(known, func(t tag) bool { return t.name == name }); i >= 0 {
			if err := known[i].set(s, value); err != nil {
				return err
			}
			continue
		}
		found, err := s.SetOwn(name, value)
		if err != nil {
			return err
		}
		if !found {
			recognized := "valid"
			if s.Seven {
				recognized = "recognized"
			}
			fmt.Fprintf(env.Stderr, "%s: warning at line %2d - tag name %s not %s\n", path, number, name, recognized)
		}
	}
}

// cutTag splits a line into the name of a tag, of at most 19 characters, and its value, which ends at a
// #.
func cutTag(text string) (name, value string) {
	text = ctext.TrimSpace(ctext.String(text))
	end := strings.IndexAny(text, ctext.Space)
	if end < 0 {
		end = len(text)
	}
	end = min(end, 19)
	name = text[:end]
	value, _, _ = strings.Cut(ctext.TrimSpace(text[end:]), "#")
	return name, value
}
