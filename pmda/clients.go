package pmda

import "sync"

// PerClient keeps something for each client of an agent, made when it is first
// asked for and forgotten when the client leaves; there are never more than
// clients. An agent that embeds it is told of those who leave:
//
//	type agent struct {
//		*pmda.Table
//		pmda.PerClient[settings]
//	}
//
// The zero PerClient is empty. It may be used by several goroutines; what it
// keeps is the agent's to guard.
type PerClient[T any] struct {
	mu sync.Mutex
	m  map[*Client]*T
}

// Of returns what is kept for a client, the zero T at first.
func (p *PerClient[T]) Of(client *Client) *T {
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.m[client]
	if v == nil {
		if p.m == nil {
			p.m = make(map[*Client]*T)
		}
		v = new(T)
		p.m[client] = v
	}
	return v
}

// EndContext forgets a client. It implements [ContextEnder]
// (pmdaSetEndContextCallBack(3)).
func (p *PerClient[T]) EndContext(client *Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.m, client)
}

// Clients returns for how many clients something is kept.
func (p *PerClient[T]) Clients() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.m)
}
