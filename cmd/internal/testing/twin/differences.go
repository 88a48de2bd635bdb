package twin

import (
	"os"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/testdir"
)

// A difference is an intended difference of ours.
type difference struct {
	why  string
	page string // the first words in docs/differences.md about it
}

// differences are the differences that scripts name.
var differences = map[string]difference{
	"at the end of an archive":    {"the C library misses a record with exactly the time of an entry of the index", "A record with exactly the time of an entry"},
	"options of scripts":          {"C's are shell scripts, and do not report unknown options", "An unknown option is named"},
	"number of -q":                {"the C script divides by it", "`-q` requires a positive number"},
	"interval of 0":               {"the C tool does not end", "`-t 0` is refused"},
	"version of an archive":       {"the C tool writes a label that does not fit the records", "`-V` refuses a version whose label has another length"},
	"time-out of a search":        {"the C tool cuts off the last character of it", "`pmfind -t` takes"},
	"what is JSON":                {"the C tool accepts invalid JSON, and prints a part of it", "`pmjson` takes what RFC 8259 calls JSON"},
	"commands that there are not": {"the C script gives advice about a package, on standard output", "A command that does not exist"},
	"zone of a summary":           {"the C script runs pmdumplog, which refuses both -z and a zone", "`pcp -Z ZONE -a ARCHIVE`"},
	"errors of Python programs":   {"the C program prints where in Python's memory the name of the program is", "`pcp-pidstat` begins messages about a source"},
	"expressions of Python":       {"expressions are those of package regexp, and a wrong one is a message", "`pcp-pidstat -G` takes"},
	"where Python gives up":       {"the C program ends with a traceback", "Where `pcp-pidstat` and `pcp-ps` of C"},
	"labels of instances":         {"the C programs take those of the domain of another metric", "The labels of instances (`-m`)"},
	"what to do next":             {"a C tool called through pcp prints less", "A command that is called as `pcp NAME`"},
	"names of local contexts":     {"the C library has no names if no name space was built", "`-L` works without a name space"},
	"full seconds":                {"the C library has times with 1000 milliseconds", "Times between two records that are a full second"},
}

// Documented checks that docs/differences.md describes a difference: a sentence
// there begins with these words.
func Documented(t testing.TB, name, words string) {
	t.Helper()
	if words == "" {
		t.Errorf("difference %q: give the first words of its sentence in docs/differences.md", name)
		return
	}
	page, err := os.ReadFile(testdir.Repo(t, "docs/differences.md"))
	if err != nil {
		t.Fatal(err)
	}
	// One line, in which each sentence has a space before it.
	text := strings.Join(strings.Fields(string(page)), " ")
	if !strings.Contains(text, "- "+words) && !strings.Contains(text, ". "+words) {
		t.Errorf("difference %q: no sentence of docs/differences.md begins with %q", name, words)
	}
}
