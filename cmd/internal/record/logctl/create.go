package logctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/daemon/controlfile"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/safefile"
)

// A policy defines the control files of a class, in sections of lines.
type policy struct {
	path     string // "" for the built-in policy
	sections map[string][]string
}

// maxPolicy is the maximum size of a policy file.
const maxPolicy = 1 << 20

func readPolicy(path string) (*policy, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, errors.New(cli.FileErrText(err))
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxPolicy+1))
	if err == nil && len(b) > maxPolicy {
		err = fmt.Errorf("more than %d bytes", maxPolicy)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return parsePolicy(path, string(b)), nil
}

func parsePolicy(path, text string) *policy {
	p := &policy{path: path, sections: map[string][]string{}}
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if name, ok := strings.CutPrefix(words[0], "["); ok && strings.HasSuffix(name, "]") {
			if name = strings.TrimSuffix(name, "]"); !strings.ContainsFunc(name, func(r rune) bool { return r < 'a' || r > 'z' }) {
				section = name
				continue
			}
		}
		p.sections[section] = append(p.sections[section], line)
	}
	return p
}

// word returns the single word of a section, "" if there is no such section.
func (p *policy) word(name string) (string, error) {
	words := strings.Fields(strings.Join(p.sections[name], "\n"))
	switch len(words) {
	case 0:
		return "", nil
	case 1:
		return words[0], nil
	}
	return "", fmt.Errorf("[%s] section is invalid in %s policy file (expect a single word, not %d words)", name, p.path, len(words))
}

func (c *controller) classDir() string { return filepath.Join(filepath.Dir(c.control), "class.d") }

// findPolicy checks that there is a policy if one is needed.
func (c *controller) findPolicy() error {
	given := c.policy != ""
	if !given {
		c.policy = filepath.Join(c.classDir(), c.class)
	}
	_, err := os.Stat(c.policy)
	switch {
	case err == nil:
	case c.class == "default" && !given:
		c.policy = ""
		c.very("Using default policy")
		return nil
	case c.action == "create" || c.action == "cond-create":
		return fmt.Errorf("policy file %s not found, class %s is not defined so cannot create", c.policy, c.class)
	case c.action == "destroy" && !c.force:
		return fmt.Errorf("policy file %s not found, class %s is not defined so cannot destroy", c.policy, c.class)
	}
	c.very("Using policy: %s", c.policy)
	return nil
}

// thePolicy returns the policy of the command line, or the built-in policy.
func (c *controller) thePolicy() (*policy, error) {
	if c.policy != "" {
		return readPolicy(c.policy)
	}
	return parsePolicy("default", "[class]\ndefault\n[ident]\n%h\n[create]\nhostname(.*)\n[control]\n"+
		"#DO NOT REMOVE OR EDIT THE FOLLOWING LINE\n$version=1.1\n"+c.kind.line+"\n"), nil
}

// A made is a control file for a new instance.
type made struct {
	ident, text, dir string
}

// prepare makes the control file of a host by a policy.
func (c *controller) prepare(p *policy, host string) (made, error) {
	m := made{ident: c.ident}
	if strings.ContainsAny(host, " \t\r\n#$\\\"'`") || host == "" {
		return m, fmt.Errorf("host %q is not a name for a control file", host)
	}
	if m.ident == "" {
		word, err := p.word("ident")
		if err != nil {
			return m, err
		}
		if m.ident = strings.ReplaceAll(word, "%h", host); word == "" {
			m.ident = host
		}
	}
	if filepath.Base(m.ident) != m.ident || m.ident == ".." || strings.ContainsAny(m.ident, " \t\r\n") {
		return m, fmt.Errorf("ident %q is not a name for a control file", m.ident)
	}
	path := filepath.Join(c.control+".d", m.ident)
	if _, err := os.Lstat(path); err == nil {
		return m, fmt.Errorf("control file %s already exists", path)
	}
	class := c.class
	if !c.explicit {
		word, err := p.word("class")
		if err != nil {
			return m, err
		}
		if class = word; word == "" {
			class = filepath.Base(p.path)
		}
	}
	lines := p.sections["control"]
	if len(lines) == 0 {
		return m, fmt.Errorf("[control] section is missing from %s policy file", p.path)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# created by %s on %s\n", c.prog(), time.Now().Format("Mon Jan _2 15:04:05 MST 2006"))
	if !slices.ContainsFunc(lines, func(s string) bool { return strings.HasPrefix(s, "$class=") }) {
		fmt.Fprintf(&b, "$class=%s\n", class)
	}
	if !slices.Contains(lines, "$version=1.1") {
		c.loud("Adding $version=1.1 to control file")
		b.WriteString("#DO NOT REMOVE OR EDIT THE FOLLOWING LINE\n$version=1.1\n")
	}
	fill := strings.NewReplacer("%h", host, "%i", m.ident)
	for _, line := range lines {
		b.WriteString(fill.Replace(line) + "\n")
	}
	m.text = b.String()
	return m, c.examine(&m, host)
}

// examine finds the directory of a new control file, and checks that no other control file uses it.
func (c *controller) examine(m *made, host string) error {
	list, err := controlfile.ReadRaw(strings.NewReader(m.text))
	if err != nil {
		return err
	}
	primary := ""
	for _, raw := range list {
		if f := raw.Fields(); f[0] == host && m.dir == "" {
			primary, m.dir = f[1], f[3]
		}
	}
	switch {
	case primary == "":
		c.printf("control file ...\n%s", m.text)
		return errors.New("cannot find primary field from control file")
	case primary == "y":
		return fmt.Errorf("primary %s cannot be created from %s", c.kind.name, c.prog())
	case m.dir == "":
		c.printf("control file ...\n%s", m.text)
		return errors.New("cannot find directory field from control file")
	}
	for _, file := range c.files() {
		for _, raw := range c.read(file) {
			if r, _, ok := c.parse(file, raw, true); ok && r.host == c.expand(host) && r.dir == c.expand(m.dir) {
				return fmt.Errorf("host %s and directory %s already defined in %s", host, m.dir, file)
			}
		}
	}
	return nil
}

// put installs a control file and starts its instance.
func (c *controller) put(ctx context.Context, m made, host string) bool {
	path := filepath.Join(c.control+".d", m.ident)
	if c.verbose > 0 {
		c.printf("--- start control file ---\n%s--- end control file ---\nInstalling control file: %s\n", m.text, path)
	}
	if err := c.install(m.text, path); err != nil {
		c.warn("%v", err)
		return false
	}
	return c.launch(ctx, path, host, c.expand(m.dir))
}

// create makes an instance for each host.
func (c *controller) create(ctx context.Context) error {
	p, err := c.thePolicy()
	if err != nil {
		return err
	}
	failed := false
	for _, host := range c.hosts {
		m, err := c.prepare(p, host)
		if err != nil {
			return err
		}
		if !c.put(ctx, m, host) {
			failed = true
		}
	}
	if failed {
		return errSaid
	}
	return nil
}

// condCreate makes an instance for each host for which the conditions of a policy hold: those of the command line, or of all
// classes that the administrator has made, or else of the class pmfind.
func (c *controller) condCreate(ctx context.Context) error {
	failed := false
	for _, host := range c.hosts {
		var got []made
		policies, found, err := c.candidates()
		if err != nil {
			return err
		}
		for i, p := range policies {
			if found > 0 && i == found && len(got) > 0 {
				c.very("host: %s condition true for some class, skip pmfind class", host)
				break
			}
			ok, err := c.holds(ctx, p, host)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			m, err := c.prepare(p, host)
			if err != nil {
				c.warn("%v", err)
				return fmt.Errorf("%s: create failed for host %s", p.path, host)
			}
			got = append(got, m)
		}
		var m made
		switch len(got) {
		case 0:
			if c.verbose > 0 {
				c.warn("no instance created for host %s", host)
			}
			continue
		case 1:
			m = got[0]
		default:
			if m, err = c.combine(ctx, got, host); err != nil {
				return err
			}
		}
		if !c.put(ctx, m, host) {
			failed = true
		}
	}
	if failed {
		return errSaid
	}
	return nil
}

// candidates returns the policies whose conditions are tried, and the number of the administrator's classes among
// them.
func (c *controller) candidates() (list []*policy, own int, err error) {
	if c.policy != "" {
		p, err := readPolicy(c.policy)
		return []*policy{p}, 0, err
	}
	entries, _ := os.ReadDir(c.classDir())
	for _, e := range entries {
		if e.Type().IsRegular() && e.Name() != "pmfind" && !controlfile.IsBackup(e.Name()) {
			p, err := readPolicy(filepath.Join(c.classDir(), e.Name()))
			if err != nil {
				return nil, 0, err
			}
			list = append(list, p)
		}
	}
	own = len(list)
	p, err := readPolicy(filepath.Join(c.classDir(), "pmfind"))
	switch {
	case err == nil:
		list = append(list, p)
	case own == 0:
		return nil, 0, err
	}
	return list, own, nil
}

// holds reports whether one of a policy's conditions holds for a host. A name that does not match ends the search.
func (c *controller) holds(ctx context.Context, p *policy, host string) (bool, error) {
	lines := p.sections["create"]
	if len(lines) == 0 {
		c.very("%s: no [create] section, skip class", p.path)
		return false, nil
	}
	match := false
	for _, line := range lines {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, rest, ok := strings.Cut(strings.TrimSpace(line), "(")
		arg, closed := strings.CutSuffix(rest, ")")
		name = strings.TrimSpace(name)
		known := slices.Contains([]string{"exists", "values", "condition", "hostname"}, name)
		if !ok || !closed || !known {
			c.warn("%s: bad create clause(s) will be ignored", p.path)
			fmt.Fprintln(c.env.Stderr, line)
			continue
		}
		holds, why := false, ""
		switch name {
		case "exists":
			_, err := c.ask(ctx, nil, "pminfo", "-h", host, arg)
			holds = err == nil
		case "values":
			if strings.ContainsAny(arg, " \t") { // an expression, which the C script also accepts
				var err error
				if holds, _, err = c.condition(ctx, p, host, arg); err != nil {
					return false, err
				}
				break
			}
			out, _ := c.ask(ctx, nil, "pmprobe", "-h", host, arg)
			holds = slices.ContainsFunc(strings.Split(out, "\n"), func(s string) bool { return count(s) > 0 })
		case "condition":
			var err error
			if holds, why, err = c.condition(ctx, p, host, arg); err != nil {
				return false, err
			}
		case "hostname":
			re, err := regexp.Compile(arg)
			if err != nil {
				return false, fmt.Errorf("%s: hostname(%s): %v", p.path, arg, err)
			}
			if holds = re.MatchString(host); !holds {
				c.very("%s: host %s hostname(%s) false", p.path, host, arg)
				return match, nil
			}
		}
		if !holds {
			c.very("%s: host %s %s(%s) false%s", p.path, host, name, arg, why)
			continue
		}
		c.loud("%s: host %s %s(%s) true%s", p.path, host, name, arg, why)
		match = true
		if name != "hostname" {
			return true, nil
		}
	}
	return match, nil
}

// count returns the number of values in a line of pmprobe.
func count(line string) int {
	if words := strings.Fields(line); len(words) > 1 {
		n, _ := strconv.Atoi(words[1])
		return n
	}
	return 0
}

// condition evaluates an expression of derived metrics for a host.
func (c *controller) condition(ctx context.Context, p *policy, host, expr string) (holds bool, why string, err error) {
	dir, err := os.MkdirTemp(c.cfg.Get("PCP_TMPFILE_DIR"), c.prog()+".*")
	if err != nil {
		return false, "", err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "derived") // its name in messages
	if err := os.WriteFile(path, fmt.Appendf(nil, "pm_ctl.check = %s\n", expr), 0o600); err != nil {
		return false, "", err
	}
	out, _ := c.ask(ctx, []string{"PCP_DERIVED_CONFIG=" + path}, "pmprobe", "-v", "-h", host, "pm_ctl.check")
	words := strings.Fields(out)
	n := count(out)
	if n < 1 || len(words) < 3 {
		return false, fmt.Sprintf(", numval %d", n), nil
	}
	val := strings.Trim(words[2], `"`)
	if n > 1 {
		c.warn("%s: condition(%s) has %d values, not 1 as expected, using first value (%s)", p.path, expr, n, val)
	}
	v, err := strconv.ParseFloat(val, 64)
	return err == nil && v > 0, ", value " + val, nil
}

// ask runs another tool and returns its output.
func (c *controller) ask(ctx context.Context, more []string, name string, args ...string) (string, error) {
	cmd, err := c.env.Sibling(ctx, name, args...)
	if err != nil {
		return "", err
	}
	cmd.Env = append(append(cmd.Environ(), c.cfg.Environ()...), more...)
	if len(more) > 0 { // the error in an expression
		c.env.FlushOut()
		cmd.Stderr = c.env.ChildStderr()
	}
	out, err := cmd.Output()
	return string(out), err
}

// combine merges the instances of several classes into one, with the configurations of all.
func (c *controller) combine(ctx context.Context, list []made, host string) (made, error) {
	m := made{ident: c.ident}
	if m.ident == "" {
		m.ident = "pmfind-" + host
	}
	var parts [4]strings.Builder
	generated := false
	for _, one := range list {
		for _, name := range configs(one.text) {
			path := c.expand(name)
			b, err := os.ReadFile(path)
			if err != nil || !filepath.IsAbs(path) {
				if generated { // the generated configuration is the same for all
					continue
				}
				generated = true
				if b, err = c.generate(ctx, host); err != nil {
					c.warn("%v", err)
					continue
				}
			}
			for i, text := range c.kind.split(string(b)) {
				if (i == 0 || i == 3) && parts[i].Len() > 0 {
					continue
				}
				parts[i].WriteString(text)
			}
		}
	}
	var config strings.Builder
	for i := range parts {
		config.WriteString(parts[i].String())
	}
	if c.verbose > 0 {
		c.printf("--- start combined config file ---\n%s--- end combined config file ---\n", config.String())
	}
	line := strings.NewReplacer("%h", host, "%i", m.ident).Replace(c.kind.combined)
	m.dir = strings.Fields(line)[3]
	m.text = "# DO NOT REMOVE OR EDIT THE FOLLOWING LINE\n$version=1.1\n\n$class=pmfind\n" + line + "\n"
	dir := filepath.Dir(c.kind.log(c.expand(m.dir)))
	path := filepath.Join(dir, m.ident+".config")
	if c.dry {
		c.printf("+ mkdir_and_chown %s 755 %s:%s\n+ cp config %s\n", dir, c.cfg.Get("PCP_USER"), c.cfg.Get("PCP_GROUP"), path)
		return m, nil
	}
	uid, gid := c.env.Owner()
	err := safefile.MkdirAll(dir, 0o755, func(d *os.File) error {
		if os.Getuid() != 0 {
			return nil
		}
		return d.Chown(uid, gid)
	})
	if err == nil {
		r := safefile.Replacement{Mode: 0o644, Uid: -1, Gid: -1}
		if os.Getuid() == 0 {
			r.Uid, r.Gid = uid, gid
		}
		err = safefile.ReplaceBytes(path, []byte(config.String()), r)
	}
	if err != nil {
		return m, errors.New(cli.FileErrText(err))
	}
	return m, nil
}

// configs returns the configurations (-c) that the lines of a control file name.
func configs(text string) (list []string) {
	raw, _ := controlfile.ReadRaw(strings.NewReader(text))
	for _, l := range raw {
		f := l.Fields()
		if f[0] == "" || f[0][0] == '#' || f[0][0] == '$' {
			continue
		}
		words := strings.Fields(f[4])
		for i, w := range words {
			if rest, ok := strings.CutPrefix(w, "-c"); ok && rest != "" {
				list = append(list, rest)
			} else if ok && i+1 < len(words) {
				list = append(list, words[i+1])
			}
		}
	}
	return list
}

// generate has pmlogconf or pmieconf make a configuration.
func (c *controller) generate(ctx context.Context, host string) ([]byte, error) {
	dir, err := os.MkdirTemp(c.cfg.Get("PCP_TMPFILE_DIR"), c.prog()+".*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "config")
	program, args := c.kind.generator(host, path)
	if out, err := c.ask(ctx, nil, program, args...); err != nil {
		return nil, fmt.Errorf("%s failed: %w: %s", program, err, strings.TrimSpace(out))
	}
	return os.ReadFile(path)
}
