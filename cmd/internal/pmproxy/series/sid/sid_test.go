package sid

import (
	"crypto/sha1"
	"errors"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
)

// TestTexts lists the text from which each identifier is computed.
func TestTexts(t *testing.T) {
	f := func(got ID, text string) {
		t.Helper()
		if want := ID(sha1.Sum([]byte(text))); got != want {
			t.Errorf("%v, want %v, of %s", got, want, text)
		}
	}
	f(String(""), `{"series":"string","value":""}`)
	f(String("a \"b\"\n\xff"), "{\"series\":\"string\",\"value\":\"a \"b\"\n\xff\"}")
	f(Source(`{"hostname":"h"}`), `{"series":"source","labels":{"hostname":"h"}}`)
	f(Instance("1 minute", "null"), `{"series":"instance","name":"1 minute","labels":null}`)
	f(Metric("disk.all.read", `{"a":1}`, pcp.Desc{
		Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: pcp.NewUnits(1, -1, 0, pcp.SpaceKByte, pcp.TimeSec, 0),
	}), `{"series":"metric","name":"disk.all.read","labels":{"a":1},"semantics":"counter","type":"U64","units":"Kbyte / sec"}`)
	f(Metric("x", "null", pcp.Desc{Type: pcp.TypeNoSupport, Sem: 77}),
		`{"series":"metric","name":"x","labels":null,"semantics":"`+pcp.Sem(77).String()+`","type":"NO_SUPPORT","units":""}`)
}

func TestLabels(t *testing.T) {
	parse := func(flags pcp.LabelFlags, json string) pcp.LabelSet {
		t.Helper()
		s, err := pcp.ParseLabels(json, flags)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	f := func(want string, sets ...pcp.LabelSet) {
		t.Helper()
		if got, err := Labels(sets...); err != nil || got != want {
			t.Errorf("Labels = %s, %v, want %s", got, err, want)
		}
	}
	context := parse(pcp.LabelContext, `{"hostname":"h","b":1}`)
	f("null")
	f("null", pcp.LabelSet{Err: pcp.ErrNoLabels})
	f(`{"b":1,"hostname":"h"}`, context)
	f(`{"a":[1,{"x":"é\"\n"}],"b":null,"hostname":"h"}`, context, parse(pcp.LabelDomain, `{"a":[1,{"x":"é\"\n"}],"b":null}`))
	f(`{"hostname":"h"}`, context, parse(pcp.LabelItem|pcp.LabelOptional, `{"b":2,"note":"n"}`))
	f(`{}`, parse(pcp.LabelItem|pcp.LabelOptional, `{"note":"n"}`))
}

func TestParse(t *testing.T) {
	id := String("x")
	for _, s := range []string{id.String(), strings.ToUpper(id.String())} {
		if got, err := Parse(s); err != nil || got != id {
			t.Errorf("Parse(%s) = %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "abc", id.String() + "0", strings.Replace(id.String(), id.String()[6:7], "g", 1)} {
		if _, err := Parse(s); !errors.Is(err, ErrInvalid) {
			t.Errorf("Parse(%q): %v, want ErrInvalid", s, err)
		}
	}
	if !(ID{}).IsZero() || id.IsZero() || id.Compare(ID{}) <= 0 || (ID{}).Compare(id) >= 0 || id.Compare(id) != 0 {
		t.Error("order of identifiers")
	}
}
