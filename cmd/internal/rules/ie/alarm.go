package ie

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/godbus/dbus/v5"

	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
)

const (
	notifications = "org.freedesktop.Notifications"
	alarmTimeout  = 2 * time.Second
)

// An alarmer shows notifications on the desktop of the user.
type alarmer struct {
	bus  string // the address of the session's bus, "" if there is none
	lost bool   // the absence of a desktop was reported
	say  func(format string, args ...any)
	out  func(format string, args ...any)
}

// Show shows a text. Where there is no desktop it is printed instead.
func (a *alarmer) Show(ctx context.Context, act deliver.Action) error {
	err := a.notify(ctx, act.Text)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if !a.lost {
		a.lost = true
		a.say("no desktop to show alarms on, printing them: %v\n", err)
	}
	a.out("Performance Co-Pilot Alarm %s: %s\n", act.Time.Format(time.ANSIC), act.Text)
	return nil
}

// markup returns a text so that the desktop shows each character literally. Control characters
// except line breaks and tabs are replaced.
func markup(text string) string {
	var b strings.Builder
	for _, c := range text { // which has utf8.RuneError for each byte that is not UTF-8
		switch {
		case c == '&':
			b.WriteString("&amp;")
		case c == '<':
			b.WriteString("&lt;")
		case c == '>':
			b.WriteString("&gt;")
		case unicode.IsControl(c) && c != '\n' && c != '\t':
			b.WriteRune(unicode.ReplacementChar)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

func (a *alarmer) notify(ctx context.Context, text string) error {
	if a.bus == "" {
		return errors.New("DBUS_SESSION_BUS_ADDRESS is not set")
	}
	ctx, cancel := context.WithTimeout(ctx, alarmTimeout)
	defer cancel()
	conn, err := dbus.Connect(a.bus, dbus.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("message bus %s: %w", a.bus, err)
	}
	defer conn.Close()
	hints := map[string]dbus.Variant{"urgency": dbus.MakeVariant(byte(2))}
	call := conn.Object(notifications, "/org/freedesktop/Notifications").CallWithContext(ctx, notifications+".Notify", 0,
		"pmie", uint32(0), "dialog-warning", "Performance Co-Pilot Alarm", markup(text), []string{}, hints, int32(0))
	if call.Err != nil {
		return fmt.Errorf("%s: %w", notifications, call.Err)
	}
	a.lost = false
	return nil
}
