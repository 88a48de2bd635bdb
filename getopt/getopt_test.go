package getopt

import (
	"strings"
	"testing"
)

var testOptions = []Option{
	{Help: "General"},
	{Short: 'a', Long: "alpha", Help: "a flag"},
	{Short: 'b', Long: "beta", Arg: "N", Help: "a number"},
	{Short: 'h', Long: "host", Arg: "HOST", Help: "a host"},
	{Short: 'z', Long: "hostzone", Help: "a flag"},
	{Long: "long", Help: "a flag"},
	{Long: "longer", Help: "a flag too"},
	{Short: 's', Arg: "N", Help: "short only"},
	{Short: 'q', Long: "quiet"},
	{Short: 'm', Long: "maybe", Arg: "[X]", Maybe: true, Help: "an argument that may be left out"},
	{Long: "ours", Help: "what the C tool does not have", Extra: true},
	{Short: '1', Long: "hosts", Help: "the same", Extra: true},
	{Long: "outer", Arg: "N", Help: "the same", Extra: true},
}

func TestGetopt(t *testing.T) {
	posix := false
	f := func(args, want string) {
		t.Helper()
		p := New(testOptions, strings.Fields(args))
		p.POSIX = posix
		var got []string
		for {
			opt, arg, ok := p.Next()
			if !ok {
				break
			}
			switch {
			case opt == nil:
				got = append(got, "!"+p.Problem())
			case opt.Long == "":
				got = append(got, "-"+string(opt.Short)+"="+arg)
			case opt.Arg != "":
				got = append(got, opt.Long+"="+arg)
			default:
				got = append(got, opt.Long)
			}
		}
		got = append(got, "["+strings.Join(p.Args(), " ")+"]")
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: got %s, want %s", args, s, want)
		}
	}
	f("", "[]")
	f("x y", "[x y]")
	f("-a", "alpha []")
	f("-ab3 x", "alpha beta=3 [x]")
	f("-ba3", "beta=a3 []")
	f("-b 3 -b -a", "beta=3 beta=-a []")
	f("-b=3", "beta==3 []")
	f("-s3 -s 4", "-s=3 -s=4 []")
	f("x -a y --beta 3 z", "alpha beta=3 [x y z]")
	f("x -a -- -b y", "alpha [x -b y]")
	f("- -a", "alpha [-]")
	f("-m x -mx -am --maybe --maybe=y --maybe z", "maybe= maybe=x alpha maybe= maybe= maybe=y maybe= [x z]")
	f("--beta=3 --beta= --beta 4", "beta=3 beta= beta=4 []")
	f("--alp --be 3", "alpha beta=3 []")
	f("--host x --hostz", "host=x hostzone []")
	f("--quiet -q --ours", "quiet quiet ours []")
	f("-ax -b", "alpha !invalid option -- 'x' !option requires an argument -- 'b' []")
	f("-\xc3\xa9", "!invalid option -- '\xc3' !invalid option -- '\xa9' []")
	f("--beta", "!option '--beta' requires an argument []")
	f("--alpha=1", "!option '--alpha' doesn't allow an argument []")
	f("--alp=1", "!option '--alpha' doesn't allow an argument []")
	f("--gamma --gamma=1", "!unrecognized option '--gamma' !unrecognized option '--gamma=1' []")
	f("--ho x", "!option '--ho' is ambiguous; possibilities: '--host' '--hostzone' [x]")
	// Not ambiguous: they differ in nothing but their names.
	f("--lon", "long []")
	// Options of our own do not matter for those of the C tool.
	f("--hosts -1 --our", "hosts hosts ours []")
	f("--ou", "!option '--ou' is ambiguous; possibilities: '--ours' '--outer' []")
	f("--long --longer", "long longer []")
	posix = true
	f("-a x -b y", "alpha [x -b y]")
	f("-a -- x -b", "alpha [x -b]")
}

func TestUsage(t *testing.T) {
	const want = `Usage: tool thing

General:
  -a, --alpha           a flag
  -b N, --beta=N        a number
  -h HOST, --host=HOST  a host
  -z, --hostzone        a flag
  --long                a flag
  --longer              a flag too
  -s N                  short only
  -m [X], --maybe=[X]   an argument that may be left out
`
	if got := Usage("tool", "thing", testOptions); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := Usage("x", "", nil), "Usage: x [options]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	const extras = "  --ours                what the C tool does not have\n  -1, --hosts           the same\n  --outer=N             the same\n"
	if got := Extras(testOptions); got != extras {
		t.Errorf("got %q, want %q", got, extras)
	}
	// In 24 columns there is no room for a space between.
	opts := []Option{{Short: 'n', Long: "namespace", Arg: "XY", Help: "help"}, {Short: 'n', Long: "namespaces", Arg: "Y", Help: "help"}}
	if got, want := Usage("x", "thing", opts), "Usage: x thing\n  -n XY, --namespace=XY help\n  -n Y, --namespaces=Y  help\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
