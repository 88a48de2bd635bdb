package api

import (
	"net/http"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/common/model"

	"github.com/go-pcp/pcp/internal/version"
)

// prometheus is the version of Prometheus whose features clients may expect of the interface.
const prometheus = "3.16.0"

// buildInfo is the endpoint status/buildinfo, by which clients decide on features.
func (h *Handler) buildInfo(*http.Request) (*result, error) {
	return &result{data: map[string]string{
		"version": prometheus, "revision": "pcp " + version.Number, "branch": "", "buildUser": "", "buildDate": "", "goVersion": runtime.Version(),
	}}, nil
}

// flags is the endpoint status/flags.
func (h *Handler) flags(*http.Request) (*result, error) {
	d := func(d time.Duration) string { return model.Duration(d).String() }
	e := h.cfg.Engine
	return &result{data: map[string]string{
		"query.lookback-delta": d(e.Lookback), "query.timeout": d(e.Timeout),
		"query.max-samples": strconv.Itoa(e.MaxSamples), "query.max-concurrency": strconv.Itoa(e.Concurrent),
	}}, nil
}

// runtimeInfo is the endpoint status/runtimeinfo.
func (h *Handler) runtimeInfo(*http.Request) (*result, error) {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return &result{data: map[string]any{
		"startTime": h.start.UTC(), "CWD": "/", "hostname": host, "serverTime": h.cfg.Now().UTC(), "reloadConfigSuccess": true,
		"lastConfigTime": h.start.UTC(), "corruptionCount": 0, "goroutineCount": runtime.NumGoroutine(), "GOMAXPROCS": runtime.GOMAXPROCS(0),
		"GOMEMLIMIT": int64(0), "GOGC": "", "GODEBUG": "", "storageRetention": "",
	}}, nil
}
