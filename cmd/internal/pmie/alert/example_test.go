package alert_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmie/alert"
	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
)

func Example() {
	told := make(chan string)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		told <- string(body)
	}))
	defer hook.Close()
	dir, err := os.MkdirTemp("", "alerts")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	settings, err := alert.Parse(strings.NewReader("receiver pager\n kind webhook\n url "+hook.URL), "receivers.conf")
	if err != nil {
		log.Fatal(err)
	}
	m, err := alert.New(alert.Config{Receivers: settings.Receivers, Dir: dir + "/spool"})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	// An engine does this if m.Act is its Config.Alert.
	err = m.Act(context.Background(), deliver.Action{
		Kind: deliver.Webhook, Receiver: "pager", Rule: "busy", Time: time.Now(),
		Matches: []deliver.Match{{Host: "acme", Instance: "sda", Value: "80", Text: "sda is busy"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	var got struct{ Status, Rule, Host, Instance, Value, Text string }
	if err := json.Unmarshal([]byte(<-told), &got); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\n", got)
	// Output:
	// {Status:firing Rule:busy Host:acme Instance:sda Value:80 Text:sda is busy}
}

func ExampleParse() {
	_, err := alert.Parse(strings.NewReader("receiver ops\n  kind mail\n  from pmie@example.com\n  to Ops\n"), "receivers.conf")
	fmt.Println(err)
	// Output:
	// receivers.conf:4: to: address "Ops": mail: missing '@' or angle-addr
	// receivers.conf:1: receiver ops: server is missing
	// receivers.conf:1: receiver ops: to is missing
}
