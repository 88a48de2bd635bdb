package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/go-pcp/pcp/cmd/internal/web"
)

// The page is served at the root, together with /pmapi/ and /series/.
func Example() {
	page, err := web.New(web.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer page.Close()
	mux := http.NewServeMux()
	mux.Handle("/", page)
	server := httptest.NewServer(mux)
	defer server.Close()
	r, err := http.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	r.Body.Close()
	fmt.Println(r.StatusCode, r.Header.Get("Content-Type"))
	// Output: 200 text/html; charset=utf-8
}
