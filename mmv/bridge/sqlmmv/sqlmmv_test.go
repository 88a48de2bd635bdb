package sqlmmv

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/testing/leak"
	"github.com/go-pcp/pcp/internal/testing/mmvtest"
	"github.com/go-pcp/pcp/mmv"
)

func TestMain(m *testing.M) { leak.Main(m) }

// A connector makes connections that do nothing.
type connector struct{}

func (connector) Connect(context.Context) (driver.Conn, error) { return conn{}, nil }
func (connector) Driver() driver.Driver                        { return nil }

type conn struct{}

func (conn) Prepare(string) (driver.Stmt, error) { return nil, errors.ErrUnsupported }
func (conn) Begin() (driver.Tx, error)           { return nil, errors.ErrUnsupported }
func (conn) Close() error                        { return nil }

func TestExport(t *testing.T) {
	db := sql.OpenDB(connector{})
	defer db.Close()
	db.SetMaxOpenConns(2)
	db.SetMaxIdleConns(1)
	reg := mmvtest.New(t, "a", mmv.Options{})
	e := Export(reg, db, Options{Prefix: "db", Interval: time.Hour})
	defer e.Stop()

	ctx := t.Context()
	one, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	two, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := db.Conn(short); err == nil {
		t.Fatal("a third connection")
	}
	check := func(want map[string]string) {
		t.Helper()
		if err := e.Refresh(); err != nil {
			t.Error(err)
		}
		got := mmvtest.Values(t, reg)
		if wait := got["db.wait.time"]; wait == "" || wait == "0" {
			t.Errorf("waited %s ns", wait)
		}
		delete(got, "db.wait.time")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	want := map[string]string{
		"db.open.max": "2", "db.open.count": "2", "db.open.in_use": "2", "db.open.idle": "0", "db.wait.count": "1",
		"db.closed.idle": "0", "db.closed.idle_time": "0", "db.closed.lifetime": "0",
	}
	check(want)
	one.Close()
	two.Close()
	want["db.open.count"], want["db.open.in_use"], want["db.open.idle"], want["db.closed.idle"] = "1", "0", "1", "1"
	check(want)
	const desc = `db.open.max: 2 discrete [count] Most connections that may be open, 0 if there is no limit
db.open.count: 2 instant [count] Connections open, in use or idle
db.open.in_use: 2 instant [count] Connections in use
db.open.idle: 2 instant [count] Connections idle
db.wait.count: 2 counter [count] Times somebody waited for a connection
db.wait.time: 2 counter [nanosec] Time spent waiting for connections
db.closed.idle: 2 counter [count] Connections closed because too many were idle
db.closed.idle_time: 2 counter [count] Connections closed because they were idle for too long
db.closed.lifetime: 2 counter [count] Connections closed because they were too old
`
	if diff := cmp.Diff(desc, mmvtest.Describe(t, reg)); diff != "" {
		t.Error(diff)
	}
}
