package difftest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// smallFiles are the inputs of smallRuns, {in}/NAME in their commands.
var smallFiles = map[string]string{
	"plain.cpp":  "#define A 1\n#include \"inc\"\n#ifdef A\nA [A] #A #{A}\n#else\nno\n#endif\n/* c */ x\n",
	"inc":        "included A\n",
	"sub/two":    "two\n",
	"two.cpp":    "#include <two>\n",
	"shell.cpp":  "#shell 'echo a; exit 3'\nb\n",
	"sh.cpp":     "# x /* y */\n%define A 1\nA #A %A %{A}\n",
	"broken.cpp": "a\n#endif\n",
	"deep.cpp":   "#include \"deep.cpp\"\n",

	"spec":    "# a client\n# of metrics\n\nfoo {\n  # inner\n\tsample.bin\tBIN\n\tkernel.all.load LOAD\n}\nbar {\n#\n\tx\tX\n}\n}\n# end",
	"crlf":    "a {\r\nx Y\r\n}\r\n",
	"nested":  "a {\nb {\n}\n}\n",
	"open":    "# c\na {\nx Y\n# d\n",
	"syntax":  "a b c\n",
	"syntax2": "a {\n x Y Z\n}\n",
	"outside": "x Y\n",

	"pcp.conf": "# settings\nPCP_LOG_DIR=logs\nPCP_USER=nosuchuser\nPCP_LOG_DIR=again\nQUOTED=\"a b\"\nTICK=it's\nEMPTY=\nSHELL=/bin/false\nno setting\n",

	"base":    "root {\n\ta\n\tm 1:1:1\n\tdyn 7:*:*\n}\na {\n\tx 2:1:1\n\ty\n\tz 2:1:9\n}\na.y {\n\tp 2:1:2\n\tq 2:1:3\n}\n",
	"dup":     "root {\n\ta\n\tsame 2:1:1\n}\na {\n\tx 3:1:1\n\tz\n\tw 3:1:2\n}\na.z {\n\tb 3:1:3\n}\n",
	"early":   "#define _DATESTAMP 19970101\nroot {\n\tearly 4:1:1\n}\n",
	"late":    "#define  _DATESTAMP_X 20200101\nroot {\n\tlate 4:1:2\n}\n",
	"bad":     "root {\n\tx\n}\n",
	"empty":   "root {\n}\n",
	"subtree": "a.y.new {\n\tone 5:1:1\n\tmore\n}\na.y.new.more {\n\ttwo 5:1:2\n}\n",
	"nogroup": "one 5:1:1\n",
}

// TestSmallTools compares tools that work on files and need no collector.
func TestSmallTools(t *testing.T) {
	t.Parallel()
	oracle.Require(t)
	b := &bench{names: map[string]string{"in": t.TempDir()}}
	for name, text := range smallFiles {
		path := filepath.Join(b.names["in"], name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, group := range []struct {
		name string
		runs []run
	}{
		{"pmcpp", cppRuns},
		{"pmnsmerge", mergeRuns},
		{"pmnsdel", delRuns},
		{"pmnsadd", addRuns},
		{"pmgenmap", genmapRuns},
		{"pmconfig", configRuns},
		{"pmpost", postRuns},
		{"pmdbg", dbgRuns},
		{"pmdate", dateRuns},
		{"pmsleep", sleepRuns},
	} {
		t.Run(group.name, func(t *testing.T) { b.table(t, group.runs) })
	}
}

var cppRuns = []run{
	{cmd: "pmcpp -?"},
	{cmd: "pmcpp --help"},
	{cmd: "pmcpp -q"},
	{cmd: "pmcpp -D"},
	{cmd: "pmcpp a b c"},
	{cmd: "pmcpp"},
	{cmd: "pmcpp {in}/nosuch"},
	{cmd: "pmcpp {in}"},
	{cmd: "pmcpp {in}/plain.cpp"},
	{cmd: "pmcpp {in}/plain.cpp -P"},
	{cmd: "pmcpp -r {in}/plain.cpp"},
	{cmd: "pmcpp -rP {in}/plain.cpp /dev/stdout"},
	{cmd: "pmcpp {in}/plain.cpp {in}/no/such"},
	{cmd: "pmcpp {in}/nosuch {in}/no/such"},
	{cmd: "pmcpp {in}/two.cpp"},
	{cmd: "pmcpp -I {in}/none -I{in}/sub {in}/two.cpp"},
	{cmd: "pmcpp --include={in}/sub --restrict {in}/two.cpp"},
	{cmd: "pmcpp {in}/shell.cpp"},
	{cmd: "pmcpp -s {in}/sh.cpp"},
	{cmd: "pmcpp -rs {in}/sh.cpp"},
	{cmd: "pmcpp {in}/broken.cpp"},
	{cmd: "pmcpp {in}/deep.cpp"},
	{cmd: "pmcpp -Dincluded=taken -D x {in}/plain.cpp"},
	{cmd: "pmcpp -DA=2 {in}/plain.cpp"},
	{cmd: "pmcpp -q -D1x {in}/plain.cpp"},
	{cmd: "pmcpp {in}/plain.cpp -P -D 'a b c'"},
	{cmd: "pmcpp -rDa=b=c -sD {in}/plain.cpp"},
	{cmd: "pmcpp -DA=1 --define A=2 {in}/plain.cpp"},
	{cmd: "pmcpp {in}/plain.cpp", env: []string{"PCP_ARCHIVE=x", "PCP_INTERVAL=y"}},
}

var mergeRuns = []run{
	{cmd: "pmnsmerge -?"},
	{cmd: "pmnsmerge one"},
	{cmd: "pmnsmerge -D nosuch a b"},
	{cmd: "pmnsmerge {in}/nosuch root"},
	{cmd: "pmnsmerge -a {in}/nosuch root"},
	{cmd: "pmnsmerge {in}/base {in}/dup"},
	{cmd: "pmnsmerge -a '' {in}/base root", shows: "root"},
	{cmd: "pmnsmerge {in}/base {in}/no/such"},
	{cmd: "pmnsmerge -d {in}/base root", shows: "root"},
	{cmd: "pmnsmerge {in}/base {in}/dup root", shows: "root"},
	{cmd: "pmnsmerge {in}/dup {in}/base root", shows: "root"},
	{cmd: "pmnsmerge -x {in}/base {in}/dup root", shows: "root"},
	{cmd: "pmnsmerge -v {in}/late {in}/base {in}/early root", shows: "root"},
	{cmd: "pmnsmerge -vv {in}/late {in}/base {in}/early {in}/empty root", shows: "root"},
	{cmd: "pmnsmerge -av {in}/late {in}/base {in}/early root", shows: "root"},
	{cmd: "pmnsmerge {in}/empty {in}/empty root", shows: "root"},
	{cmd: "pmnsmerge {in}/base {in}/bad root", shows: "root"},
	{cmd: "pmnsmerge -f {in}/base {in}/early root", file: "late", shows: "root"},
	{cmd: "pmnsmerge --force --verbose --nodups {in}/base {in}/early root", file: "late", shows: "root"},
	{cmd: "pmnsmerge {in}/base {in}/early root", file: "late", shows: "root"},
}

var delRuns = []run{
	{cmd: "pmnsdel -?"},
	{cmd: "pmnsdel"},
	{cmd: "pmnsdel -n {in}/nosuch a"},
	{cmd: "pmnsdel -n {in}/bad a"},
	{cmd: "pmnsdel -n root a", file: "base", shows: "root"},
	{cmd: "pmnsdel -d -n root m dyn", file: "base", shows: "root"},
	{cmd: "pmnsdel -n root a.y", file: "base", shows: "root"},
	{cmd: "pmnsdel -n root a.y.p a.y.q a.x", file: "base", shows: "root"},
	{cmd: "pmnsdel -n root a.x a.z a.y", file: "base", shows: "root"},
	{cmd: "pmnsdel -n root m nosuch", file: "base", shows: "root"},
	{cmd: "pmnsdel -n root m m", file: "base", shows: "root"},
	{cmd: "pmnsdel -n root a. ''", file: "base", shows: "root"},
	{cmd: "pmnsdel -n root dyn.x", file: "base", shows: "root"},
	{cmd: "pmnsdel a.x", env: []string{"PMNS_DEFAULT=root"}, file: "base", shows: "root"},
	{cmd: "pmnsdel -n root early", file: "early", shows: "root"},
}

var addRuns = []run{
	{cmd: "pmnsadd -?"},
	{cmd: "pmnsadd"},
	{cmd: "pmnsadd a b"},
	{cmd: "pmnsadd -q", diff: "getopts"},
	{cmd: "pmnsadd -n", diff: "getopts"},
	{cmd: "pmnsadd -n /no/such/file a", diff: "names the file"},
	{cmd: "pmnsadd -n root a", file: "base"},
	{cmd: "pmnsadd -d -n root {in}/subtree", file: "base", shows: "root"},
	{cmd: "pmnsadd -n root {in}/dup", file: "base", shows: "root"},
	{cmd: "pmnsadd -n root {in}/late", file: "early", shows: "root", noise: "temporary"},
	{cmd: "pmnsadd -n root {in}/subtree", file: "early", shows: "root"},
	{cmd: "pmnsadd -n root {in}/nogroup", file: "base", shows: "root", noise: "temporary"},
	{cmd: "pmnsadd -n root {in}/bad", file: "base", shows: "root", noise: "temporary"},
	{cmd: "pmnsadd {in}/subtree", env: []string{"PMNS_DEFAULT=root"}, file: "base", shows: "root"},
}

var genmapRuns = []run{
	{cmd: "pmgenmap -?"},
	{cmd: "pmgenmap a b"},
	{cmd: "pmgenmap {in}/nosuch"},
	{cmd: "pmgenmap {in}"},
	{cmd: "pmgenmap {in}/spec", noise: "built"},
	{cmd: "pmgenmap /usr/share/pcp/demos/pmclient/pmnsmap.spec", noise: "built"},
	{cmd: "pmgenmap {in}/crlf", noise: "built"},
	{cmd: "pmgenmap {in}/nested", noise: "built"},
	{cmd: "pmgenmap {in}/open", noise: "built"},
	{cmd: "pmgenmap {in}/syntax", noise: "built"},
	{cmd: "pmgenmap {in}/syntax2", noise: "built"},
	{cmd: "pmgenmap {in}/outside", noise: "built"},
	{cmd: "pmgenmap", noise: "built"},
}

var dbgRuns = []run{
	{cmd: "pmdbg"},
	{cmd: "pmdbg -?"},
	{cmd: "pmdbg -q"},
	{cmd: "pmdbg -l"},
	{cmd: "pmdbg --list x"},
	{cmd: "pmdbg -lg"},
	{cmd: "pmdbg 4 -lo"},
	{cmd: "pmdbg -lgo"},
	{cmd: "pmdbg -g"},
	{cmd: "pmdbg -o"},
	{cmd: "pmdbg -D"},
	{cmd: "pmdbg -D -1,pdu"},
	{cmd: "pmdbg -D -2"},
	{cmd: "pmdbg -g -o"},
	{cmd: "pmdbg -og -q"},
	{cmd: "pmdbg -log"},
	{cmd: "pmdbg -D pdu,Fetch -q"},
	{cmd: "pmdbg -g -D all"},
	{cmd: "pmdbg -D labels,desperate"},
	{cmd: "pmdbg -D nosuch"},
	{cmd: "pmdbg -D 7"},
	{cmd: "pmdbg -D 7x"},
	{cmd: "pmdbg -D 0x7"},
	{cmd: "pmdbg -D ''"},
	{cmd: "pmdbg -D pdu,,fetch"},
	{cmd: "pmdbg 0 1 4096 0x5 0XfF ff 1abc x 0x 10"},
	{cmd: "pmdbg 99999999999 0xffffffff 536870912 1073741824 -- -1"},
}

var dateRuns = []run{
	{cmd: "pmdate"},
	{cmd: "pmdate -?"},
	{cmd: "pmdate --help x"},
	{cmd: "pmdate 5d %Y"},
	{cmd: "pmdate +5 %Y"},
	{cmd: "pmdate +5? %Y"},
	{cmd: "pmdate -5w %Y"},
	{cmd: "pmdate + %Y"},
	{cmd: "pmdate '' %Y"},
	{cmd: "pmdate ''"},
	{cmd: "pmdate %c%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c"},
	{cmd: "pmdate %Y%m%d"},
	{cmd: "pmdate -1d '%a %A %b %B %h %C %d %D %e %F %g %G %H %I %j %k %l %m %n %p %P %R %t %u %U %V %w %W %x %y %Y %z %Z %%'"},
	{cmd: "pmdate -100d +3H -2d -5m +7y '%a %j %U %V %W %F %R %G %u %w'"},
	{cmd: "pmdate -14m '%Y-%m-%d %H'"},
	{cmd: "pmdate +30m '%Y-%m-%d %H'"},
	{cmd: "pmdate -6m '%F %H %Z %z'", env: []string{"TZ=Europe/Berlin"}},
	{cmd: "pmdate -3m '%F %H %Z %z'", env: []string{"TZ=Australia/Sydney"}},
	{cmd: "pmdate -4m -1y '%F %H %Z'", env: []string{"TZ=EST5EDT"}},
	{cmd: "pmdate -+2d +-1d '+ 3d' %F"},
	{cmd: "pmdate -1dx %F"},
	{cmd: "pmdate '%-d %_d %05d %^a %#a %#p %^B %10Y %-5d %_3m %Ey %Od %10a|%010a|%#Z|%'"},
	{cmd: "pmdate 'x%Qy %5'"},
}

var sleepRuns = []run{
	{cmd: "pmsleep"},
	{cmd: "pmsleep 0"},
	{cmd: "pmsleep 0.1"},
	{cmd: "pmsleep ignored '10 msec'"},
	{cmd: "pmsleep '5 apples'"},
	{cmd: "pmsleep -1"},
	{cmd: "pmsleep ''"},
	{cmd: "pmsleep --help"},
}

var configRuns = []run{
	{cmd: "pmconfig -?"},
	{cmd: "pmconfig -q"},
	{cmd: "pmconfig"},
	{cmd: "pmconfig -l"},
	{cmd: "pmconfig -s"},
	{cmd: "pmconfig -sa"},
	{cmd: "pmconfig PCP_LOG_DIR PCP_NOSUCH PCP_DIR"},
	{cmd: "pmconfig -s PCP_LOG_DIR PCP_NOSUCH PCP_DIR"},
	{cmd: "pmconfig PCP_LOG_DIR", env: []string{"PCP_LOG_DIR=/other"}},
	{cmd: "pmconfig PCP_LOG_DIR", env: []string{"PCP_LOG_DIR="}},
	{cmd: "pmconfig HOME", env: []string{"HOME=/x"}},
	{cmd: "pmconfig", env: []string{"PCP_CONF={in}/pcp.conf", "PCP_LOG_DIR=it's"}},
	{cmd: "pmconfig -s", env: []string{"PCP_CONF={in}/pcp.conf", "PCP_LOG_DIR=it's"}},
	{cmd: "pmconfig -s QUOTED TICK EMPTY SHELL", env: []string{"PCP_CONF={in}/pcp.conf"}},
	{cmd: "pmconfig -L multi_threaded ipv6 pmapi_version nosuch"},
	{cmd: "pmconfig -Ls multi_threaded nosuch"},
	{cmd: "pmconfig", env: []string{"PCP_LOG_DIR="}},
	{cmd: "pmconfig -L pcp_version", diff: "version on standard output"},
}

var postRuns = []run{
	{cmd: "pmpost"},
	{cmd: "pmpost -?"},
	{cmd: "pmpost --help", env: []string{"PCP_CONF={in}/pcp.conf"}, shows: "logs/NOTICES", noise: "posted"},
	{cmd: "pmpost -q -D x", env: []string{"PCP_CONF={in}/pcp.conf"}, shows: "logs/NOTICES", noise: "posted"},
	{cmd: "pmpost hello 'two  words'", env: []string{"PCP_CONF={in}/pcp.conf"}, shows: "logs/NOTICES", noise: "posted"},
	{cmd: "pmpost hello", env: []string{"PCP_CONF={in}/pcp.conf", "PCP_LOG_DIR=other"}, shows: "logs/NOTICES", noise: "posted"},
}
