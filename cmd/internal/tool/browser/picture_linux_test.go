package browser

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/leak"
)

// TestMain lets the test be the browser that it drives.
func TestMain(m *testing.M) {
	if kind := os.Getenv("PCP_TEST_BROWSER"); kind != "" {
		fakeBrowser(kind)
		return
	}
	leak.Main(m)
}

// fakeBrowser answers the commands of descriptor 3 on descriptor 4. Its pictures have the methods that it was asked for, and the
// height of the page. The page is ready at the third question.
func fakeBrowser(kind string) {
	in, out := bufio.NewReader(os.NewFile(3, "in")), os.NewFile(4, "out")
	asked, height := 0, 0.0
	var methods []string
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var order struct {
			ID        int
			Method    string
			SessionID string
			Params    map[string]any
		}
		if err := json.Unmarshal(text[:len(text)-1], &order); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
		methods = append(methods, order.Method)
		var result any = map[string]any{}
		switch order.Method {
		case "Target.createTarget":
			result = map[string]any{"targetId": "a target"}
		case "Target.attachToTarget":
			result = map[string]any{"sessionId": "a session"}
		case "Emulation.setDeviceMetricsOverride":
			height = order.Params["height"].(float64)
		case "Page.captureScreenshot", "Page.printToPDF":
			text := fmt.Sprintf("%s %v %v %s", order.SessionID, height, order.Params["format"], strings.Join(methods, " "))
			result = map[string]any{"data": base64.StdEncoding.EncodeToString([]byte(text))}
		case "Runtime.evaluate":
			asked++
			var value any = asked > 2 && kind != "slow"
			if strings.Contains(order.Params["expression"].(string), "scrollHeight") {
				value = 20000
			}
			result = map[string]any{"result": map[string]any{"value": value}}
			if kind == "exception" {
				result = map[string]any{"exceptionDetails": map[string]any{"text": "Uncaught"}}
			}
		}
		answer := map[string]any{"id": order.ID, "result": result}
		switch {
		case order.Method == "Browser.close" && kind != "deaf":
			return
		case kind == "dies" && order.Method == "Page.navigate":
			return
		case kind == "garbage":
			fmt.Fprint(out, "garbage\x00")
			continue
		case kind == "error" && order.Method == "Page.navigate":
			answer = map[string]any{"id": order.ID, "error": map[string]any{"message": "Cannot navigate."}}
		}
		b, _ := json.Marshal(answer)
		fmt.Fprintf(out, "{\"method\":\"an.event\"}\x00%s\x00", b)
	}
}

func TestTake(t *testing.T) {
	test, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// f makes a picture with a browser of a kind.
	f := func(kind string, p Picture) (string, error) {
		t.Helper()
		script := fmt.Sprintf("#!/bin/sh\nPCP_TEST_BROWSER=%s exec %s\n", kind, test)
		if err := os.WriteFile(filepath.Join(dir, "chromium"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if kind == "slow" {
			ctx, cancel = context.WithTimeoutCause(t.Context(), time.Second, errors.New("a second"))
		}
		defer cancel()
		b, err := p.Take(ctx, testEnv(map[string]string{"PATH": dir}))
		return string(b), err
	}
	const before = "Target.createTarget Target.attachToTarget Emulation.setDeviceMetricsOverride Emulation.setEmulatedMedia Emulation.setFocusEmulationEnabled Page.navigate " +
		"Runtime.evaluate Runtime.evaluate Runtime.evaluate "
	page := Picture{Address: "http://127.0.0.1:1/", Width: 640, Format: "png", Ready: "window.ready"}
	want := "a session 16384 png " + before + "Runtime.evaluate Emulation.setDeviceMetricsOverride Runtime.evaluate Page.captureScreenshot"
	if got, err := f("good", page); got != want || err != nil {
		t.Errorf("the whole page is %q, %v, want %q", got, err, want)
	}
	page.Height, page.Format = 300, "pdf"
	want = "a session 300 <nil> " + before + "Runtime.evaluate Page.printToPDF"
	if got, err := f("deaf", page); got != want || err != nil {
		t.Errorf("the page is %q, %v, want %q", got, err, want)
	}
	for kind, want := range map[string]string{
		"dies":      "the browser ended: Page.navigate: unexpected EOF",
		"error":     "Page.navigate: Cannot navigate",
		"exception": "!!(window.ready): Uncaught",
		"garbage":   "Target.createTarget: invalid character 'g' looking for beginning of value",
		"slow":      "a second",
	} {
		if _, err := f(kind, page); fmt.Sprint(err) != want {
			t.Errorf("%s: %v, want %s", kind, err, want)
		}
	}
	if _, err := page.Take(t.Context(), testEnv(map[string]string{"PATH": t.TempDir()})); !errors.Is(err, ErrNoChromium) {
		t.Errorf("without a browser the error is %v", err)
	}
}
