package controlfile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func testParser(pmie bool) *Parser {
	return NewParser(Config{
		PMIE: pmie, ArchiveDir: "/arch", LogDir: "/log", Hostname: "here.example",
		Getenv: func(name string) string { return map[string]string{"HOME": "/home/me", "EMPTY": ""}[name] },
		Now:    time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
	})
}

// read returns a line of text for each line of a control file.
func read(p *Parser, text string) string {
	var b strings.Builder
	for l := range p.Read(strings.NewReader(text), "control") {
		if l.Assignment != "" {
			fmt.Fprintf(&b, "%d %s\n", l.Number, strings.TrimRight(l.Assignment, " "))
		}
		for _, pr := range l.Problems {
			kind := "error"
			if pr.Warning {
				kind = "warning"
			}
			fmt.Fprintf(&b, "%d %s: %s\n", l.Number, kind, pr.Text)
		}
		if l.Valid {
			fmt.Fprintf(&b, "%d %s primary=%v socks=%v dir=%s args=%s\n", l.Number, l.Host, l.Primary, l.Socks, l.Dir, l.Args)
		}
	}
	return b.String()
}

func TestRead(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := read(testParser(false), text); got != want {
			t.Errorf("%q:\n%swant\n%s", text, got, want)
		}
	}
	const v = "$version=1.1\n"
	const v1 = "1 export version; version=1.1\n"
	f("", "")
	f("# a comment\n\n  \t\n#!#x n n /d -c x\n", "")
	f("# a comment that goes on \\\nx n n /d -c x\n", "")
	f(v+"LOCALHOSTNAME y n PCP_ARCHIVE_DIR/LOCALHOSTNAME -r -c config.default\n",
		v1+"2 local: primary=true socks=false dir=/arch/here.example args=-r -c config.default\n")
	f(v+"LOCALHOSTNAME n n PCP_LOG_DIR/x/LOCALHOSTNAME/LOCALHOSTNAME -h LOCALHOSTNAME",
		v1+"2 local: primary=false socks=false dir=/log/x/here.example/LOCALHOSTNAME args=-h LOCALHOSTNAME\n")
	f(v+"far\tn  y\t/d   -r  -T 10\\\n  -c x  \r\n", v1+"2 far primary=false socks=true dir=/d args=-r  -T 10  -c x\n")
	f(v+"far y n /d -c x\n", v1+"2 local: primary=true socks=false dir=/d args=-c x\n")
	f(v+`far n n /a\ b\\c -c x\`, v1+"2 far primary=false socks=false dir=/a b\\c args=-c x\n")

	// Version 1.0 has no field for socks.
	f("$version=1.0\nfar n /d -c x\n", "1 export version; version=1.0\n2 far primary=false socks=false dir=/d args=-c x\n")
	f("far n /d -c x\nnear n /e -c y\n", "1 warning: processing default version 1.0 control format\n"+
		"1 far primary=false socks=false dir=/d args=-c x\n2 near primary=false socks=false dir=/e args=-c y\n")
	f("$version=9\nfar n n /d -c x\n", "1 export version; version=9\n2 error: bad version (9) in control file\n")

	// Missing fields.
	for _, line := range []string{"far", "far n", "far n n", "far n n /d", `far n n "" x`} {
		f(v+line+"\n", v1+"2 error: insufficient fields in control file record\n")
	}
	f("a\x00b n n /d x\n", "1 error: NUL byte in control file record\n")

	// Variables.
	f("$A=1; export A\n$B='two words' # why\n$C=\"$A-${B}-${NOT-x}-${EMPTY:-y}-$HOME\" \n",
		"1 export A; A=1\n2 export B; B='two words'\n3 export C; C=\"$A-${B}-${NOT-x}-${EMPTY:-y}-$HOME\"\n")
	f("$A=1\n"+v+"far n n /d/$A/${HOME}/x$ -c x\n", "1 export A; A=1\n2 export version; version=1.1\n3 far primary=false socks=false dir=/d/1//home/me/x$ args=-c x\n")
	f("$A=$(rm -rf /)\n", "1 warning: cannot set $A: command substitution of \"rm -rf /\" refused, only date +FORMAT, hostname and echo are known, line ignored\n")
	f("$A=`hostname -s`/$(date +%Y)\n", "1 export A; A=`hostname -s`/$(date +%Y)\n")
	f("$A=x touch /tmp/y\n", "1 export A; A=x touch /tmp/y\n1 warning: \"touch /tmp/y\" after the value of $A ignored, no command is run\n")
	f("$A=x; rm y\n", "1 export A; A=x\n1 warning: \"; rm y\" after the value of $A ignored, no command is run\n")
	f("$A='x\n", "1 warning: cannot set $A: quote not terminated, line ignored\n")
	f("$PATH=/x\n$IFS=y\n", "1 warning: cannot change $PATH, line ignored\n2 warning: cannot change $IFS, line ignored\n")
	for _, line := range []string{"$", "$A", "$1=x", "$_A=x", "$(date)", "$A =x", "$A-b=c"} {
		f(line+"\n", "1 warning: in-line command is not a variable assignment, line ignored\n")
	}
	f("$A=${B=x}\n", "1 warning: cannot set $A: ${B=x}: only ${NAME}, ${NAME-text} and ${NAME:-text} are known, line ignored\n")

	// Directories.
	dir := func(dir, want string) {
		t.Helper()
		f(v+"far n n "+dir+"\n", v1+"2 "+want+"\n")
	}
	good := func(in, out string) {
		t.Helper()
		dir(in+" -c x", "far primary=false socks=false dir="+out+" args=-c x")
	}
	bad := func(in, why string) { t.Helper(); dir(in+" -c x", "error: "+why) }
	good(`"/one$word"`, "/one$word") // nothing is evaluated here, as in C
	good(`"/x/$(date +%Y)/y/`+"`date +%m`"+`/LOCALHOSTNAME"`, "/x/2026/y/03/here.example")
	good(`"/two words/$HOME/x"`, "/two words//home/me/x")
	good(`$( echo /some/path )`, "/some/path")
	good("` echo /some/path `", "/some/path")
	bad(`"/x/$(echo ")" "`, `command substitution of "echo "" refused, only date +FORMAT, hostname and echo are known: "/x/$(echo ")"`)
	bad(`/x/$(date +%Y)`, "embedded $( without initial \": /x/$(date")
	bad("/x/`date +%Y`", "embedded ` without initial \": /x/`date")
	bad(`"/x/y z`, `quote not terminated: "/x/y z -c x`)
	bad(`$(date`, "quote not terminated: $(date -c x")
	bad(`"/x $(touch /tmp/x)"`, `command substitution of "touch /tmp/x" refused, only date +FORMAT, hostname and echo are known: "/x $(touch /tmp/x)"`)
	bad(`$HOME;rm`, "\";\" in a directory without quotes: $HOME;rm")
}

// TestReadPMIE reads lines whose format matters only to pmie.
func TestReadPMIE(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		if got := read(testParser(true), line+"\n"); got != want {
			t.Errorf("%q:\n%swant\n%s", line, got, want)
		}
	}
	const v = "$version=1.1\n"
	const v1 = "1 export version; version=1.1\n"
	f(v+"LOCALHOSTNAME y n PCP_LOG_DIR/pmie/LOCALHOSTNAME/pmie.log -c config.default", v1+"2 local: primary=true socks=false dir=/log/pmie/here.example/pmie.log args=-c config.default\n")
	f(v+"far x n /d -c x", v1+"2 error: primary field in control file record must be y or n, not \"x\"\n")
	f(v+"far n x /d -c x", v1+"2 error: socks field in control file record must be y or n, not \"x\"\n")
	f(v+"far n n /d c x", v1+"2 error: args field in control file must begin with a hyphen not \"c x\"\n")
	f("far n /d -c x", "1 warning: missing $version, assuming version 1.0 control format\n1 far primary=false socks=false dir=/d args=-c x\n")
}

// TestFiles reads the kinds of files in a directory of control files. A variable of one file applies to the next, a
// default version does not.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	control := filepath.Join(dir, "control")
	for name, text := range map[string]string{
		"control": "old n /d -c x\n$A=1\n", "control.d/b": "b n n /b/$A -c x\n", "control.d/a": "$version=1.1\n",
		"control.d/c.dpkg-old": "c n n /c -c x\n", "control.d/d/e": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	p := testParser(false)
	for _, path := range Files(control) {
		for l := range p.File(path) {
			name := filepath.Base(l.File)
			if l.Valid {
				got = append(got, name+" "+l.Dir)
			}
			for _, pr := range l.Problems {
				got = append(got, strings.ReplaceAll(l.Message("prog", "", pr), dir, ""))
			}
		}
	}
	want := []string{
		"control /d", "prog [/control:1]\nWarning: processing default version 1.0 control format\n", "b /b/1",
		"prog [/control.d/c.dpkg-old:0]\nWarning: ignored backup control file \"/control.d/c.dpkg-old\"\n",
		"prog: [/control.d/d:0]\nError: cannot read control file: /control.d/d is not a file\n... logging for host \"\" unchanged\n",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if env := p.Environ(); !slices.Equal(env, []string{"A=1", "version=1.1"}) || p.Getenv("HOME") != "/home/me" {
		t.Errorf("variables %q", env)
	}
	for l := range p.File(filepath.Join(dir, "none")) {
		if len(l.Problems) != 1 || !strings.Contains(l.Problems[0].Text, "no such file") {
			t.Errorf("a file that is not there: %+v", l)
		}
	}
}

func TestLimits(t *testing.T) {
	const entry = "$version=1.1\nfar n n /d -c x\n"
	for _, c := range []struct{ name, text, want string }{
		{"line", entry + strings.Repeat("x", MaxLine+1) + "\n", "line 3: more than 65536 bytes"},
		{"continuations", entry + strings.Repeat("x \\\n", MaxLine/3) + "\n", "more than 65536 bytes"},
		{"file", entry + strings.Repeat("#\n", MaxFile/2), "more than 1048576 bytes"},
	} {
		got := read(testParser(false), c.text)
		if !strings.Contains(got, "dir=/d") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %.200s", c.name, got)
		}
	}
	var b strings.Builder
	for i := range maxVars + 1 {
		fmt.Fprintf(&b, "$V%d=x\n", i)
	}
	if got := read(testParser(false), b.String()); !strings.HasSuffix(got, "warning: cannot set $V1000: more than 1000 variables, line ignored\n") {
		t.Error("no limit of variables")
	}
	b.Reset()
	b.WriteString("$A=xxxxxxxx\n")
	for range 20 {
		b.WriteString("$A=$A$A\n")
	}
	if got := read(testParser(false), b.String()); !strings.Contains(got, "the value has more than 65536 bytes") {
		t.Error("no limit of values")
	}
}

// FuzzRead reads files of arbitrary bytes. Accepted fields must be part of their line, and no line of the
// file may be lost.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"$version=1.1\nLOCALHOSTNAME y n PCP_ARCHIVE_DIR/LOCALHOSTNAME -r -T24h10m -c config.default -v 100Mb\n",
		"far n n \"/x/$(date +%Y) `hostname`/y\" -c x\n", "$A=\"${B-$(\n", "a\\\nb\\", "\x00\n", "$A='\n", "x y z $( (((", "far n /d ${HOME}",
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, b []byte, pmie bool) {
		raw, err := ReadRaw(strings.NewReader(string(b)))
		if err == nil {
			var text []string
			for _, l := range raw {
				text = append(text, l.Text)
			}
			want := strings.TrimSuffix(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n")
			if got := strings.Join(text, "\n"); got != want {
				t.Errorf("lines of %q are %q", want, got)
			}
		}
		p := testParser(pmie)
		for l := range p.Read(strings.NewReader(string(b)), "control") {
			bad := slices.ContainsFunc(l.Problems, func(pr Problem) bool { return !pr.Warning })
			if l.Valid == bad && l.Assignment == "" && len(l.Problems) == 0 {
				t.Errorf("%q: neither valid nor wrong", l.Fields)
			}
			if l.Valid && (bad || l.Host == "" || l.Dir == "" || l.Args == "" || strings.Contains(l.Dir, "\x00")) {
				t.Errorf("%q: accepted as %+v", l.Fields, l)
			}
		}
	})
}

// TestStopped reads a line that pmlogctl has stopped, as pmlogger_daily expects it.
func TestStopped(t *testing.T) {
	p := NewParser(Config{Stopped: true})
	var hosts []string
	for l := range p.Read(strings.NewReader("$version=1.1\n#!#far n n /d -c x\n# far n n /e -c x\n#!#\n"), "control") {
		if l.Valid {
			hosts = append(hosts, l.Host+" "+l.Dir)
		}
	}
	if len(hosts) != 1 || hosts[0] != "far /d" {
		t.Errorf("%q, want far /d", hosts)
	}
}
