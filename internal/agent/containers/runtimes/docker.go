package runtimes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// errStatus is the error of an answer with a status other than 200.
var errStatus = errors.New("unexpected status")

// get requests a path by HTTP, and decodes the answer.
func get(ctx context.Context, dial dialer, path, runtime string) ([]Container, error) {
	t := &http.Transport{DialContext: dial, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader}
	defer t.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := t.RoundTrip(req) // which follows no redirection and knows no proxy
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %w %d", path, errStatus, resp.StatusCode)
	}
	list, err := decodeContainers(&limited{resp.Body, maxAnswer}, runtime)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

// errTooLarge is the error of an answer above maxAnswer.
var errTooLarge = fmt.Errorf("the answer has more than %d bytes", maxAnswer)

// A limited is a reader that fails after so many bytes.
type limited struct {
	r    io.Reader
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLarge
	}
	n, err := l.r.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

func askDocker(ctx context.Context, dial dialer) ([]Container, error) {
	return get(ctx, dial, "/containers/json?all=1", "docker")
}

// askPodman uses the interface of podman 4 and later, which lists processes and pods, or that of docker, which earlier versions have.
func askPodman(ctx context.Context, dial dialer) ([]Container, error) {
	list, err := get(ctx, dial, "/v4.0.0/libpod/containers/json?all=true", "podman")
	if errors.Is(err, errStatus) {
		return get(ctx, dial, "/containers/json?all=1", "podman")
	}
	return list, err
}

// decodeContainers decodes a list of containers: the answer of docker to GET /containers/json, or that of podman to GET
// /libpod/containers/json, which lists processes and pods too.
func decodeContainers(r io.Reader, runtime string) ([]Container, error) {
	return decodeList(r, func(d *json.Decoder) (Container, error) {
		var e struct {
			ID      string `json:"Id"`
			Names   []string
			Image   string
			ImageID string
			State   string
			PID     int    `json:"Pid"` // of podman
			PodName string // of podman
			Labels  map[string]string
		}
		err := d.Decode(&e)
		c := Container{ID: e.ID, Image: e.Image, ImageID: digest(e.ImageID), State: stateOf(e.State), PID: e.PID, Pod: e.PodName}
		if len(e.Names) > 0 {
			c.Name = strings.TrimPrefix(e.Names[0], "/")
		}
		for _, name := range e.Names {
			// Others are names that linked containers have for it, as /web/db.
			if name = strings.TrimPrefix(name, "/"); !strings.Contains(name, "/") {
				c.Name = name
				break
			}
		}
		c.kubernetes(e.Labels)
		c.Runtime = runtime
		return c, err
	})
}

// kubernetes adds labels. Those of the kubelet name the pod.
func (c *Container) kubernetes(labels map[string]string) {
	if pod := labels["io.kubernetes.pod.name"]; pod != "" {
		c.Name, c.Pod = labels["io.kubernetes.container.name"], pod
		c.Namespace, c.PodUID = labels["io.kubernetes.pod.namespace"], labels["io.kubernetes.pod.uid"]
	}
	c.addLabels("container_label_", labels)
}

// decodeList decodes a list of containers, of which it leaves out those without an identifier.
func decodeList(r io.Reader, next func(*json.Decoder) (Container, error)) (all []Container, err error) {
	d := json.NewDecoder(r)
	t, err := d.Token()
	if err != nil {
		return nil, unexpected(err)
	}
	if t == nil {
		return nil, nil // the list of no containers is null in some versions
	}
	if t != json.Delim('[') {
		return nil, errors.New("the answer is not a list")
	}
	for n := 0; d.More(); n++ {
		if n == maxContainers {
			return nil, fmt.Errorf("more than %d containers", maxContainers)
		}
		c, err := next(d)
		if err != nil {
			return nil, unexpected(err)
		}
		if !isID(c.ID) {
			continue
		}
		c.clean()
		all = append(all, c)
	}
	if _, err := d.Token(); err != nil {
		return nil, unexpected(err)
	}
	return all, nil
}

// unexpected returns err, and for the end of an answer that is not complete, that it is.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
