package runtimes

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// The Container Runtime Interface is gRPC: HTTP/2 without TLS, on which each call is a POST of a message of protocol buffers with five
// bytes before it. The answer is the same, and its trailer has a status.

// services are the names of the service, that of newer runtimes first.
var services = [...]string{"runtime.v1.RuntimeService", "runtime.v1alpha2.RuntimeService"}

func askContainerd(ctx context.Context, dial dialer) ([]Container, error) {
	return askCRI(ctx, dial, "containerd")
}

func askCRIO(ctx context.Context, dial dialer) ([]Container, error) {
	return askCRI(ctx, dial, "cri-o")
}

func askCRIDocker(ctx context.Context, dial dialer) ([]Container, error) {
	return askCRI(ctx, dial, "docker")
}

func askCRI(ctx context.Context, dial dialer, runtime string) ([]Container, error) {
	t := &http.Transport{DialContext: dial, DisableCompression: true, MaxResponseHeaderBytes: maxHeader, Protocols: new(http.Protocols)}
	t.Protocols.SetUnencryptedHTTP2(true)
	defer t.CloseIdleConnections()
	var err error
	for _, service := range services {
		var pods, containers []byte
		if pods, err = call(ctx, t, service, "ListPodSandbox"); err == nil {
			containers, err = call(ctx, t, service, "ListContainers")
		}
		if status := rpcStatus(0); errors.As(err, &status) && status == unimplemented {
			continue
		}
		if err != nil {
			return nil, err
		}
		return decodeCRI(pods, containers, runtime)
	}
	return nil, err
}

// An rpcStatus is a status of gRPC other than 0.
type rpcStatus int

// unimplemented is the status of a call to a service that the server does not have.
const unimplemented rpcStatus = 12

func (s rpcStatus) Error() string {
	switch s {
	case unimplemented:
		return "no Container Runtime Interface here"
	case 7:
		return "permission denied by the runtime"
	}
	return fmt.Sprintf("gRPC status %d", int(s))
}

// frameHeader is the number of bytes before a message: a flag and the length.
const frameHeader = 5

// call makes a call whose request is an empty message, and returns the message of the answer.
func call(ctx context.Context, t *http.Transport, service, method string) ([]byte, error) {
	path := "/" + service + "/" + method
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+path, bytes.NewReader(make([]byte, frameHeader)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("Te", "trailers")
	resp, err := t.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %w %d", path, errStatus, resp.StatusCode)
	}
	message, err := readFrame(&limited{resp.Body, maxAnswer})
	status := resp.Trailer.Get("Grpc-Status")
	if status == "" {
		status = resp.Header.Get("Grpc-Status") // of an answer without a message
	}
	if status != "" && status != "0" {
		var n rpcStatus
		if _, err := fmt.Sscanf(status, "%d", &n); err != nil || n <= 0 {
			return nil, fmt.Errorf("%s: gRPC status %.20q", path, status)
		}
		return nil, fmt.Errorf("%s: %w", path, n)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return message, nil
}

// readFrame reads one message up to the end.
func readFrame(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if len(b) < frameHeader {
		return nil, io.ErrUnexpectedEOF
	}
	if b[0] != 0 {
		return nil, errors.New("the message is compressed")
	}
	if n := binary.BigEndian.Uint32(b[1:]); uint64(n) != uint64(len(b)-frameHeader) {
		return nil, fmt.Errorf("a message of %d bytes in an answer of %d", n, len(b))
	}
	return b[frameHeader:], nil
}

// decodeCRI decodes the answers to ListPodSandbox and ListContainers. A pod is a container too.
func decodeCRI(pods, containers []byte, runtime string) (all []Container, err error) {
	known := make(map[string]*Container)
	var sandboxes []*Container
	err = fields(pods, func(number int, _ uint64, b []byte) error {
		if number != 1 {
			return nil
		}
		if len(sandboxes) == maxContainers {
			return fmt.Errorf("more than %d pods", maxContainers)
		}
		c, err := decodeSandbox(b)
		if err != nil || !isID(c.ID) {
			return err
		}
		c.Runtime = runtime
		c.clean()
		known[c.ID] = &c
		sandboxes = append(sandboxes, &c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, s := range sandboxes {
		all = append(all, *s)
	}
	err = fields(containers, func(number int, _ uint64, b []byte) error {
		if number != 1 {
			return nil
		}
		if len(all) >= 2*maxContainers {
			return fmt.Errorf("more than %d containers", maxContainers)
		}
		c, sandbox, err := decodeContainer(b)
		if err != nil || !isID(c.ID) {
			return err
		}
		c.Runtime = runtime
		c.clean()
		if pod := known[sandbox]; pod != nil {
			c.Pod, c.Namespace, c.PodUID = pod.Pod, pod.Namespace, pod.PodUID
			room := MaxLabels - len(c.Labels)
			c.Labels = append(c.Labels[:len(c.Labels):len(c.Labels)], pod.Labels[:min(len(pod.Labels), room)]...)
		}
		all = append(all, c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// decodeSandbox decodes a message PodSandbox.
func decodeSandbox(b []byte) (c Container, err error) {
	labels := make(map[string]string)
	c.State = Running // 0 is left out: SANDBOX_READY
	err = fields(b, func(number int, n uint64, b []byte) error {
		switch number {
		case 1:
			c.ID = string(b)
		case 2:
			return fields(b, func(number int, _ uint64, b []byte) error {
				switch number {
				case 1:
					c.Pod = string(b)
				case 2:
					c.PodUID = string(b)
				case 3:
					c.Namespace = string(b)
				}
				return nil
			})
		case 3:
			if n != 0 {
				c.State = Stopped
			}
		case 5:
			return pair(labels, b)
		}
		return nil
	})
	c.addLabels("pod_label_", labels)
	return c, err
}

// decodeContainer decodes a message Container. It also returns the identifier of the container that holds the pod.
func decodeContainer(b []byte) (c Container, sandbox string, err error) {
	labels := make(map[string]string)
	var image, wanted, ref, id string
	c.State = Stopped // 0 is left out: CONTAINER_CREATED
	err = fields(b, func(number int, n uint64, b []byte) error {
		switch number {
		case 1:
			c.ID = string(b)
		case 2:
			sandbox = string(b)
		case 3:
			return fields(b, func(number int, _ uint64, b []byte) error {
				if number == 1 {
					c.Name = string(b)
				}
				return nil
			})
		case 4:
			return fields(b, func(number int, _ uint64, b []byte) error {
				switch number {
				case 1:
					image = string(b)
				case 18:
					wanted = string(b) // by the user; image may be an identifier
				}
				return nil
			})
		case 5:
			ref = string(b)
		case 6:
			if n == 1 {
				c.State = Running
			} else if n > 2 {
				c.State = Unknown
			}
		case 8:
			return pair(labels, b)
		case 10:
			id = string(b)
		}
		return nil
	})
	for _, name := range [...]string{wanted, image} {
		if c.Image == "" && digest(name) != name && !isID(name) {
			c.Image = name
		}
	}
	for _, name := range [...]string{id, ref, image} {
		if c.ImageID == "" {
			c.ImageID = digest(name)
		}
	}
	if pod := labels["io.kubernetes.pod.name"]; pod != "" {
		c.Pod, c.Namespace, c.PodUID = pod, labels["io.kubernetes.pod.namespace"], labels["io.kubernetes.pod.uid"]
	}
	c.addLabels("container_label_", labels)
	return c, sandbox, err
}

// maxPairs is the maximum number of labels in a message.
const maxPairs = 1024

// pair adds an entry of a map of strings to m.
func pair(m map[string]string, b []byte) error {
	if len(m) == maxPairs {
		return fmt.Errorf("more than %d labels", maxPairs)
	}
	var key, value string
	err := fields(b, func(number int, _ uint64, b []byte) error {
		switch number {
		case 1:
			key = string(b)
		case 2:
			value = string(b)
		}
		return nil
	})
	m[key] = value
	return err
}

// errMessage is the error of bytes that are not a message of protocol buffers.
var errMessage = errors.New("not a message of protocol buffers")

// fields calls fn for each field of a message, with its number and its value, which is a number or bytes.
func fields(b []byte, fn func(number int, n uint64, b []byte) error) error {
	for len(b) > 0 {
		key, size := binary.Uvarint(b)
		if size <= 0 || key>>3 == 0 || key>>3 > 1<<29-1 {
			return errMessage
		}
		b = b[size:]
		var n uint64
		var text []byte
		switch key & 7 {
		case 0: // a number
			if n, size = binary.Uvarint(b); size <= 0 {
				return errMessage
			}
			b = b[size:]
		case 1:
			if len(b) < 8 {
				return errMessage
			}
			n, b = binary.LittleEndian.Uint64(b), b[8:]
		case 2: // a length and bytes
			length, size := binary.Uvarint(b)
			if size <= 0 || length > uint64(len(b)-size) {
				return errMessage
			}
			text, b = b[size:size+int(length)], b[size+int(length):]
		case 5:
			if len(b) < 4 {
				return errMessage
			}
			n, b = uint64(binary.LittleEndian.Uint32(b)), b[4:]
		default:
			return errMessage
		}
		if err := fn(int(key>>3), n, text); err != nil {
			return err
		}
	}
	return nil
}
