package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

const cephConf = `[global]
fsid = 3f1a2c60-5a51-4a8e-9a8e-2f6b2c0d1e11
mon host = v2:127.0.0.1:%[2]d
mon initial members = a
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
ms bind ipv6 = false
public addr = 127.0.0.1
cluster addr = 127.0.0.1
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pgp num = 4
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 1073741824
mon allow pool size one = true
mon data avail crit = 1
mon data avail warn = 2
osd data = %[1]s/osd
mon data = %[1]s/mon
run dir = %[1]s
log file = %[1]s/$name.log
admin socket = %[1]s/$name.asok
pid file = %[1]s/$name.pid
keyring = %[1]s/keyring
`

// radosgw starts Ceph's gateway for S3, with one monitor and one store in memory, and returns the variables for its clients.
func radosgw(t *testing.T) environment {
	t.Helper()
	if !longtest.Enabled() {
		t.Skip("SKIPPED: PCP_TEST_LONG is not set")
	}
	for _, tool := range []string{"radosgw", "radosgw-admin", "ceph", "ceph-mon", "ceph-osd", "monmaptool"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("SKIPPED: Ceph's gateway is not installed: " + err.Error())
		}
	}
	dir, err := os.MkdirTemp("", "rgw") // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	port := func() int {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().(*net.TCPAddr).Port
	}
	mon, web, conf := port(), port(), filepath.Join(dir, "ceph.conf")
	err = errors.Join(os.WriteFile(conf, fmt.Appendf(nil, cephConf, dir, mon), 0o600), os.WriteFile(filepath.Join(dir, "keyring"), nil, 0o600),
		os.Mkdir(filepath.Join(dir, "mon"), 0o700), os.Mkdir(filepath.Join(dir, "osd"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	call := func(line string) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		words := strings.Fields(line)
		if out, err := exec.CommandContext(ctx, words[0], append(words[1:], "-c", conf)...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	serve := func(line string) {
		words := strings.Fields(line)
		words[len(words)-1] = strings.ReplaceAll(words[len(words)-1], ";", " ")
		cmd := exec.Command(words[0], append(words[1:], "-f", "-c", conf)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
		})
	}
	const id = "1d3b8ae2-e878-41a6-ae64-b222f8b3b182"
	call(fmt.Sprintf("monmaptool --create --fsid 3f1a2c60-5a51-4a8e-9a8e-2f6b2c0d1e11 --addv a v2:127.0.0.1:%d %s/monmap", mon, dir))
	call("ceph-mon -i a --mkfs --monmap " + dir + "/monmap")
	serve("ceph-mon -i a")
	call("ceph osd new " + id)
	call("ceph-osd -i 0 --mkfs --osd-uuid " + id)
	serve("ceph-osd -i 0")
	call("radosgw-admin user create --uid=test --display-name=test --access-key=key --secret=secret")
	serve(fmt.Sprintf("radosgw -n client.admin --rgw-frontends beast;endpoint=127.0.0.1:%d", web))
	url := fmt.Sprintf("http://127.0.0.1:%d", web)
	await.Until(t, "the gateway to answer", func() bool {
		resp, err := http.Get(url)
		if err == nil {
			resp.Body.Close()
		}
		return err == nil
	})
	return environment{"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "PCP_OBJECT_CACHE": "off"}
}

// TestRadosgw writes to Ceph's gateway.
func TestRadosgw(t *testing.T) {
	env := radosgw(t)
	d, err := OpenDir("s3://archives/a dir/b", env.get)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := d.back.(*s3).send(t.Context(), http.MethodPut, "archives", "", nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	testDir(t, d)
	testUpload(t, d)
	want := contents(t, 2*partSize+5)
	sums, err := d.Upload(t.Context(), "h/big", local(t, want))
	if err != nil || !bytes.Equal(stored(t, d, "h/big"), want) {
		t.Errorf("%v", err)
	}
	var requests []string
	d.back.(*s3).client.Transport = tripper(func(r *http.Request) (*http.Response, error) {
		requests = append(requests, r.Method)
		return http.DefaultTransport.RoundTrip(r)
	})
	if err := d.Verify(t.Context(), "h/big", sums); err != nil || len(requests) != 1 {
		t.Errorf("%v, with %q and not one HEAD", err, requests)
	}
	if _, _, err := d.Read(t.Context(), "h/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
