package difftest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/version"
)

// A noise is a part of the output that differs between runs of the same tool.
type noise struct {
	why  string
	find *regexp.Regexp
	with string
}

// noises are taken out of both outputs before they are compared.
var noises = map[string]noise{
	"clock": {
		"the time of day of the sample",
		regexp.MustCompile(`@ \w\w\w \w\w\w [ \d]\d \d\d:\d\d:\d\d \d{4}`), "@ DATE",
	},
	"notice": {
		"time and process of a warning, and in which source file of the C library it is",
		regexp.MustCompile(`\[\w{3} \w{3} [ \d]\d [\d:]+\] (\w+)\(\d+\) Warning: (?:auxconnect\.c:__pmAuxConnectPMCDPort: )?`), "$1 ",
	},
	"helpless": {
		"a shared object without its help texts says so; ours have them built in",
		regexp.MustCompile(`(?m)^\[.*pmdaInit: PMDA .* Unable to open help text file.*\n`), "",
	},
	"built": {"when it was made", regexp.MustCompile(`(?m)^ \* on .*$`), " * on DATE"},
	"posted": {
		"when it was posted",
		regexp.MustCompile(`\w{3} \w{3} [ \d]\d [\d:]{8} \d{4}|(?m)^[\d:]{8}\.\d{3}`), "DATE",
	},
	"temporary": {
		"the name of a temporary directory",
		regexp.MustCompile(`/pmnsadd\.\w+/`), "/TEMPORARY/",
	},
	"trace": {
		"processes, file descriptors, addresses and times in what -D prints",
		regexp.MustCompile(`\[\d+\]pm|fd=\d+|version\): \d+|0x[0-9a-f]{9,}|\d+\.\d{9} [\d:]+\.\d{9}`), "X",
	},
	"words": {
		"the process in credentials, and the times of results",
		regexp.MustCompile(`(?m)^000: +14 +700c +\w+|7015 +0 +\w+ +\w+ +\w+ +\w+ +\w+|7001 +0 +\w+ +\w+`), "WORDS",
	},
	"calls": {
		"calls inside the C library, or which ours prints and 6.0.3 does not, and where the tools call different functions",
		regexp.MustCompile(`pmWhichContext\(\) -> 0, cur=0\n|(?m)^(?:pmDestroyContext|pmTraversePMNS|pmLookupText|pmGetPMNSLocation\(\)|pmGetChildren).*\n`), "",
	},
	"stamps": {
		"times in event records, which the agent makes when it is asked",
		regexp.MustCompile(`\d\d:\d\d:\d\d\.\d{3,9}`), "TIME",
	},
	"numbers": {
		"what the machine does at the time; columns must be where they are",
		regexp.MustCompile(` +\d+(\.\d+)?[mgKM]?`), " N",
	},
	"rates": {
		"the time between two samples is not the same to the last digit",
		regexp.MustCompile(`( +)\d+\.\d+`), "${1}R",
	},
	"random": {
		"the agent changes the number of instances by chance, or clients and others come and go",
		regexp.MustCompile(`((?:sample\.scramble\.bin|sample\.mirage|sample\.proc|pmcd\.client|mem\.slabinfo|ipc)\S*) \d+`), "$1 N",
	},
	"client": {
		"each client is the next of the collector's clients",
		regexp.MustCompile(`\[\d+ or "\d+"\]|inst \[\d+\]`), "[CLIENT]",
	},
	"texts": {
		"help texts of the two client-side metrics, which come last, are in our words",
		regexp.MustCompile(`(?s)\nevent\.flags .*$`), "\n",
	},
	"hash": {"the hash has the client's number in it", regexp.MustCompile(`series [0-9a-f]{40}`), "series HASH"},
}

// A difference is an intended difference. docs/differences.md describes it in a
// sentence that begins as page does. ours makes our expected output from that of
// the C tool; status is ours.
type difference struct {
	why, page string
	ours      func(theirs result) result
}

var differences = map[string]difference{
	"version": {"it is our version, not theirs", "The version is that of this software", func(r result) result {
		r.stderr = strings.Replace(r.stderr, "6.0.3", version.Number, 1)
		return r
	}},
	"version on standard output": {"it is our version, not theirs", "The version is that of this software", func(r result) result {
		r.stdout = strings.Replace(r.stdout, "6.0.3", version.Number, 1)
		return r
	}},
	"getopts": {"the script has the words of the shell, we those of all other tools", "Mistakes in its options are", func(r result) result {
		r.stderr = strings.Replace(r.stderr, "Illegal option -q", "pmnsadd: invalid option -- 'q'", 1)
		r.stderr = strings.Replace(r.stderr, "No arg for -n option", "pmnsadd: option requires an argument -- 'n'", 1)
		return r
	}},
	"names the file": {"the script forgets which file it could not find", "Its messages name the file", func(r result) result {
		r.stdout = strings.Replace(r.stdout, `""`, `"/no/such/file"`, 1)
		return r
	}},
	"asks why": {"of a name that is unknown among others we ask alone, for the reason", "With `-V`, an unknown name among others", func(r result) result {
		r.stdout = strings.Replace(r.stdout, "   0   1   0   0   0   0   0   1   0   0\nTotal: 4", "   0   2   0   0   0   0   0   1   0   0\nTotal: 5", 1)
		r.stdout = strings.Replace(r.stdout, "PDUs recv   1", "PDUs recv   2", 1)
		r.stdout = strings.Replace(r.stdout, "Total: 3", "Total: 4", 1)
		return r
	}},
	"container names": {"a name that no container can have is refused, as later releases do", "A name that no container can have", func(r result) result {
		return result{stderr: "pminfo: Cannot connect to PMCD on host \"local:\": Invalid argument\n", status: 1}
	}},
	"first word": {"of an archive C takes an instance whose first word the name begins with", "The name of an instance in an archive is the whole name", func(result) result {
		return result{stdout: "Note: timezone set to \"TZ=UTC\"\n\n", stderr: "pmval: instance 1x not available\n", status: 1}
	}},
	"our help texts": {"help texts of the two client-side metrics are in our words", "The help texts of `event.flags`", func(r result) result {
		r.stdout = "\nevent.flags\nHelp:\nFlag bits of an event record\n"
		return r
	}},
}

// TestDifferences checks that each difference is documented, and that a line of the
// tables names it.
func TestDifferences(t *testing.T) {
	paths, err := filepath.Glob("cases*_test.go")
	if err != nil || len(paths) == 0 {
		t.Fatal("no tables: ", err)
	}
	var tables []byte
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		tables = append(tables, b...)
	}
	for name, d := range differences {
		if !bytes.Contains(tables, fmt.Appendf(nil, "diff: %q", name)) {
			t.Errorf("difference %q: no line of the tables names it", name)
		}
		twin.Documented(t, name, d.page)
	}
}
