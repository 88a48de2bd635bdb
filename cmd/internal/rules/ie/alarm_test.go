package ie

import (
	"fmt"
	"html"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/godbus/dbus/v5"

	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/internal/testing/dbustest"
)

// desktop takes notifications.
type desktop chan string

func (d desktop) Notify(app string, _ uint32, _, summary, body string, _ []string, hints map[string]dbus.Variant, _ int32) (uint32, *dbus.Error) {
	d <- fmt.Sprintf("%s|%s|%s|%v", app, summary, body, hints["urgency"].Value())
	return 1, nil
}

func TestAlarmOnDesktop(t *testing.T) {
	address := dbustest.Start(t)
	conn, err := dbus.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	got := make(desktop, 1)
	if err := conn.Export(got, "/org/freedesktop/Notifications", notifications); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.RequestName(notifications, dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
	wrong := func(format string, args ...any) { t.Errorf("said "+format, args...) }
	a := &alarmer{bus: address, say: wrong, out: wrong}
	if err := a.Show(t.Context(), deliver.Action{Text: "\"a\" <b>&\nc\x00\xff"}); err != nil {
		t.Fatal(err)
	}
	if text, want := <-got, "pmie|Performance Co-Pilot Alarm|\"a\" &lt;b&gt;&amp;\nc\ufffd\ufffd|2"; text != want {
		t.Errorf("notified %q, want %q", text, want)
	}
}

// FuzzMarkup has a notification show any text literally, without markup for a desktop.
func FuzzMarkup(f *testing.F) {
	for _, text := range []string{"busy: sda", "<b>&amp;</b>", `<a href="x">y</a> <img src='http://example.com'/>`, "a\nb\tc\r\x00\x1b[2J", "\xff\xfe", "\u009b2J\u202e", "&#60;b&#62;"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := markup(text)
		if strings.ContainsAny(got, "<>") || !utf8.ValidString(got) || strings.ContainsFunc(got, func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' }) {
			t.Fatalf("%q becomes %q", text, got)
		}
		if back, plain := html.UnescapeString(got), !strings.ContainsFunc(text, func(c rune) bool { return unicode.IsControl(c) || c == utf8.RuneError }); plain && back != text {
			t.Fatalf("%q becomes %q, which shows as %q", text, got, back)
		}
	})
}
