package pmda

import "sync"

// PerClient keeps a T for each client of an agent. It makes the T when it is
// first requested and forgets it when the client leaves; an agent that embeds
// the PerClient is notified of that:
//
//	type agent struct {
//		*pmda.Table
//		pmda.PerClient[settings]
//	}
//
// The zero PerClient is empty. Several goroutines may use it; the agent guards
// the T.
type PerClient[T any] struct {
	mu sync.Mutex
	m  map[*Client]*T
}

// Of returns the T of a client, at first the zero T.
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

// Clients returns the number of clients for which a T is kept.
func (p *PerClient[T]) Clients() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.m)
}
