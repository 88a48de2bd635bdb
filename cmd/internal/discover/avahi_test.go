package discover

import (
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/testing/dbustest"
)

// fakeAvahi simulates the Avahi daemon.
type fakeAvahi struct {
	conn *dbus.Conn
	ends atomic.Bool // it reports the end of the list
}

func (f *fakeAvahi) ServiceBrowserNew(_, _ int32, service, domain string, _ uint32) (dbus.ObjectPath, *dbus.Error) {
	const path = dbus.ObjectPath("/Client1/ServiceBrowser1")
	go func() {
		f.conn.Emit("/Client1/ServiceBrowser7", avahiBrowser+".ItemNew", int32(2), int32(0), "of another", service, domain, uint32(0))
		for _, name := range []string{"cellar", "attic", "gone", "odd", "cellar"} {
			f.conn.Emit(path, avahiBrowser+".ItemNew", int32(2), int32(0), name, service, domain, uint32(0))
		}
		f.conn.Emit(path, avahiBrowser+".ItemNew", "what is this")
		if f.ends.Load() {
			f.conn.Emit(path, avahiBrowser+".AllForNow")
		}
	}()
	return path, nil
}

func (f *fakeAvahi) ResolveService(iface, protocol int32, name, service, domain string, _ int32, _ uint32) (
	int32, int32, string, string, string, string, int32, string, uint16, [][]byte, uint32, *dbus.Error,
) {
	address := map[string]string{"cellar": "192.0.2.7", "attic": "2001:db8::7", "odd": "not an address"}[name]
	if address == "" {
		return 0, 0, "", "", "", "", 0, "", 0, nil, 0, dbus.MakeFailedError(os.ErrNotExist)
	}
	return iface, protocol, name, service, domain, name + ".local", 0, address, 44321, nil, 0, nil
}

func TestAvahi(t *testing.T) {
	address := dbustest.Start(t)
	cfg := settings("DBUS_SYSTEM_BUS_ADDRESS", address)

	// A bus without a daemon on it.
	if got, warnings := find(t, PMCD, Options{Mechanism: "avahi", Config: cfg}); got != nil || warnings != nil {
		t.Errorf("without a daemon: %q, %q", got, warnings)
	}

	conn, err := dbus.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fake := &fakeAvahi{conn: conn}
	fake.ends.Store(true)
	if err := conn.Export(fake, "/", avahiServer); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.RequestName(avahiName, dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
	want := []string{"pcp://192.0.2.7:44321", "pcp://[2001:db8::7]:44321"}
	for _, mechanism := range []string{"avahi,timeout=20", "avahi,timeout=20"} {
		got, warnings := find(t, PMCD, Options{Mechanism: mechanism, Config: cfg})
		if diff := cmp.Diff(want, got); diff != "" || warnings != nil {
			t.Errorf("%s (-want +got)\n%s%q", mechanism, diff, warnings)
		}
	}
	if got, _ := find(t, "unknown", Options{Mechanism: "avahi", Config: cfg}); got != nil {
		t.Errorf("an unknown service: %q", got)
	}

	// A daemon that does not report the end of the list: the variable sets how long to wait.
	fake.ends.Store(false)
	start := time.Now()
	got, _ := find(t, PMCD, Options{Mechanism: "avahi,timeout=60", Config: settings("DBUS_SYSTEM_BUS_ADDRESS", address, "AVAHI_DISCOVERY_TIMEOUT", "1")})
	if diff := cmp.Diff(want, got); diff != "" || time.Since(start) > 30*time.Second {
		t.Errorf("after %v (-want +got)\n%s", time.Since(start), diff)
	}
}

// TestNoBus checks that something that is not a bus finds nothing.
func TestNoBus(t *testing.T) {
	for _, address := range []string{"unix:path=/no/such/bus", "nonsense", "tcp:host=127.0.0.1,port=1"} {
		if got, warnings := find(t, PMCD, Options{Mechanism: "avahi", Config: settings("DBUS_SYSTEM_BUS_ADDRESS", address)}); got != nil || warnings != nil {
			t.Errorf("%s: %q, %q", address, got, warnings)
		}
	}
}
