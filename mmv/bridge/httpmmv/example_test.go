package httpmmv_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/mmv/bridge/httpmmv"
)

func Example() {
	dir, err := os.MkdirTemp("", "mmv") // a real program does not set Options.Dir
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	reg, err := mmv.New("shop", mmv.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer reg.Close()

	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "an anvil") })
	h := httpmmv.Handler(reg, mux, httpmmv.Options{}) // for http.ListenAndServe

	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/orders/7", nil))
	fmt.Println(reg.Lookup("http.requests", "GET:/orders/{id}:200"))
	// Output: 1
}
