package logger_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/logger"
)

// A handler answers /logger/ping to announce that archives can be pushed. Behind a
// pmproxy.Server it knows its clients, and accepts archives from trusted ones.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	h, err := logger.New(logger.Config{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	for _, r := range [][2]string{{"GET", "/logger/ping"}, {"POST", "/logger/label"}} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(r[0], r[1], nil))
		fmt.Println(w.Code, strings.TrimSpace(w.Body.String()))
	}
	// Output:
	// 200 {"success":true}
	// 403 {"message":"No permission to perform requested operation","success":false}
}
