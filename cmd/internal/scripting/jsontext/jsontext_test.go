package jsontext

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

func pmjson(in, name string, args ...string) (out, problem string, status int) {
	var stdout, stderr bytes.Buffer
	status = Command.Run(context.Background(), &cli.Env{
		Name: name, Args: args, Command: Command,
		Stdin: strings.NewReader(in), Stdout: &stdout, Stderr: &stderr,
		Getenv: func(string) string { return "" },
	})
	return stdout.String(), stderr.String(), status
}

// TestInvalid has text that the C tool accepts, or prints a part of.
func TestInvalid(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		out, problem, status := pmjson(in, "pcp json")
		if out != "" || status != 1 || problem != "pcp json: "+want+"\n" {
			t.Errorf("%.60q: %q, %q, status %d, want %q", in, out, problem, status, want)
		}
		if out, problem, status := pmjson(in, "pcp json", "-q"); out != "" || problem != "" || status != 1 {
			t.Errorf("-q %q: %q, %q, status %d", in, out, problem, status)
		}
	}
	f("", "the input is empty: No data available")
	f(" \n", "the input is empty: No data available")
	f(`{"a":`, "the input ends within a value: No data available")
	f("[1,\n  tru]", "line 2, column 6: invalid character ']' in literal true (expecting 'e'): Invalid argument")
	f(`{"a":}`, "line 1, column 6: invalid character '}' looking for beginning of value: Invalid argument")
	f(`[] []`, "line 1, column 4: invalid character '[' after top-level value: Invalid argument")
	f("[1 2]", "line 1, column 4: invalid character '2' after array element: Invalid argument")
	f("[01]", "line 1, column 3: invalid character '1' after array element: Invalid argument")
	f(strings.Repeat("[", 20_000), "line 1, column 10001: invalid character '[' exceeded max depth: Invalid argument")
	if _, problem, status := pmjson("[", "pmjson", "-q", "-m"); status != 1 || problem != "pmjson failed: No data available\n" {
		t.Errorf("-q -m: %q, status %d", problem, status)
	}
}

// TestCommas checks that pmjson accepts arrays that lack commas or have too many, as the C tool
// does, and pcp json does not.
func TestCommas(t *testing.T) {
	for in, want := range map[string]string{
		`[1 2]`: `[1,2]`, `["a" "b"]`: `["a","b"]`, `[{}{},]`: `[{},{}]`, `[,]`: `[]`, `[,1,,2]`: `[1,2]`, `[[1][2]]`: `[[1],[2]]`,
		"[ {\"a,b\\\"]\": [1 2,]}\n{\"c\":null} ]": `[{"a,b\"]":[1,2]},{"c":null}]`,
		`{"a":1 "b":2}`: "", `{"a":1,}`: "", `[1}`: "", `[1 2`: "", `[1]]`: "", `["a":1]`: "", `[truefalse]`: "", `["a`: "", `["a\`: "",
	} {
		out, problem, status := pmjson(in, "pmjson", "-m")
		if (status == 0) != (want != "") || want != "" && out != want+"\n" {
			t.Errorf("%s: %q, %q, status %d, want %q", in, out, problem, status, want)
		}
		if _, _, status := pmjson(in, "pcp json"); status == 0 {
			t.Errorf("pcp json takes %s", in)
		}
	}
}

// TestFiles checks that a file is only replaced by valid JSON, its own too.
func TestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	check := func(want string) {
		t.Helper()
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("the file has %q, %v, want %q", b, err, want)
		}
	}
	if _, problem, status := pmjson(" [ 1, 2 ] ", "pmjson", "-o", path, "-m"); status != 0 {
		t.Error(problem)
	}
	check("[1,2]\n")
	if _, _, status := pmjson("[", "pmjson", "-o", path); status != 1 {
		t.Error("wrong JSON was taken")
	}
	check("[1,2]\n")
	if _, problem, status := pmjson("", "pmjson", "-i", path, "-o", path); status != 0 {
		t.Error(problem)
	}
	check("[\n    1,\n    2\n]\n")
	if out, _, _ := pmjson("7", "pmjson", "-i", "-", "-o", "-"); out != "7\n" {
		t.Errorf("standard streams: %q", out)
	}
	if _, problem, status := pmjson("7", "pmjson", "-o", "/dev/full"); status != 2 || !strings.Contains(problem, "No space left") {
		t.Errorf("a full device: %q, status %d", problem, status)
	}
	if _, problem, status := pmjson("", "pmjson", "-i", t.TempDir()); status != 1 || !strings.Contains(problem, "s a directory") {
		t.Errorf("a directory: %q, status %d", problem, status)
	}
}

// FuzzPrint checks that the output is the same value, and that short stays short.
func FuzzPrint(f *testing.F) {
	for _, s := range []string{
		"null", `"a\"b\\"`, "[]", "{}", " [1 , -2.5e+7,true ] ", `{"a" : {"b":[{}, []]}, "":"\u00e9"}`, `[[[]],{"a":{}}]`, "\t1\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if fixed, err := read(strings.NewReader(in), true); err == nil && !json.Valid(fixed) {
			t.Fatalf("read(%q): %q", in, fixed)
		}
		text, err := read(strings.NewReader(in), false)
		if (err == nil) != json.Valid([]byte(in)) {
			t.Fatalf("read(%q): %v", in, err)
		}
		if err != nil {
			return
		}
		var want bytes.Buffer
		if err := json.Compact(&want, text); err != nil {
			t.Fatal(err)
		}
		short, long, yaml := printer{rest: text, minimal: true}, printer{rest: text}, printer{rest: text}
		short.json(0)
		long.json(0)
		yaml.yaml(0)
		if !bytes.Equal(short.out, want.Bytes()) {
			t.Errorf("minimal: %q, want %q", short.out, want.Bytes())
		}
		var got bytes.Buffer
		if err := json.Compact(&got, long.out); err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("laid out: %q, %v, want %q", long.out, err, want.Bytes())
		}
	})
}
