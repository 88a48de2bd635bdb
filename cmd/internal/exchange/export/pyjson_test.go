package export

import (
	"math"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// document has all that documents are made of.
func sampleDocument() *object {
	o := new(object)
	o.set("z", list{number("1"), "a\"\\\n\r\t\f\b\x01\x7fé世\U0001f600", nil, list{}, new(object)})
	o.set("a", numeral(pcp.DoubleValue(1e22)))
	o.sub("m").set("k", numeral(pcp.DoubleValue(math.NaN())))
	o.sub("m").set("i", numeral(pcp.DoubleValue(math.Inf(-1))))
	o.set("u", numeral(pcp.Uint64Value(math.MaxUint64)))
	o.set("z2", numeral(pcp.Int32Value(-3)))
	o.set("a", numeral(pcp.FloatValue(0.5)))
	return o
}

var dumpers = []struct {
	d      dumper
	python string
}{
	{jsonDumper, `indent=2,sort_keys=True,ensure_ascii=False,separators=(',',': ')`},
	{sparkDumper, `sort_keys=True,ensure_ascii=False,separators=(',',': ')`},
	{elasticDumper, ``},
}

func TestDump(t *testing.T) {
	want := []string{
		"{\n  \"a\": 0.5,\n  \"m\": {\n    \"i\": -Infinity,\n    \"k\": NaN\n  },\n  \"u\": 18446744073709551615,\n  \"z\": [\n    1,\n" +
			"    \"a\\\"\\\\\\n\\r\\t\\f\\b\\u0001\x7fé世\U0001f600\",\n    null,\n    [],\n    {}\n  ],\n  \"z2\": -3\n}",
		"{\"a\": 0.5,\"m\": {\"i\": -Infinity,\"k\": NaN},\"u\": 18446744073709551615,\"z\": [1,\"a\\\"\\\\\\n\\r\\t\\f\\b\\u0001\x7fé世\U0001f600\",null,[],{}],\"z2\": -3}",
		`{"z": [1, "a\"\\\n\r\t\f\b\u0001\u007f\u00e9\u4e16\ud83d\ude00", null, [], {}], "a": 0.5, "m": {"k": NaN, "i": -Infinity}, "u": 18446744073709551615, "z2": -3}`,
	}
	for i, d := range dumpers {
		if got := string(d.d.dump(nil, sampleDocument(), 0)); got != want[i] {
			t.Errorf("dump %d:\n got %s\nwant %s", i, got, want[i])
		}
	}
}

// TestDumpOracle compares with Python's output.
func TestDumpOracle(t *testing.T) {
	oracle.Require(t)
	for i, d := range dumpers {
		out := oracle.Python(t, nil, `import json,sys
sys.stdout.buffer.write(json.dumps({"z":[1,"a\"\\\n\r\t\f\b\x01\x7f\u00e9\u4e16\U0001f600",None,[],{}],"a":0.5,"m":{"k":float("nan"),"i":float("-inf")},"u":18446744073709551615,"z2":-3},`+d.python+`).encode())`)
		if got := string(d.d.dump(nil, sampleDocument(), 0)); got != out.Stdout {
			t.Errorf("dump %d:\n got    %s\n Python %s%s", i, got, out.Stdout, out.Stderr)
		}
	}
}
