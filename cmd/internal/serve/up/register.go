package up

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/share"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/shipping"
	"github.com/go-pcp/pcp/pmcd"
)

// registration returns the registration with the recorders of a fleet, nil if there is none.
func (set *settings) registration(env *cli.Env) (*share.Registration, error) {
	if set.register == "" {
		return nil, nil
	}
	address := set.registerAs
	if address == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("%w; choose an address with --register-as", err)
		}
		address = host
		if set.port != pmcd.DefaultPort {
			address = net.JoinHostPort(host, strconv.Itoa(set.port))
		}
	}
	if err := share.CheckAddress(address); err != nil {
		return nil, fmt.Errorf("%w; choose another with --register-as", err)
	}
	store, err := share.OpenStore(set.register, env.Getenv)
	if err != nil {
		return nil, fmt.Errorf("--register: %w", err)
	}
	return &share.Registration{Store: store, Address: address}, nil
}

// tryStores returns an error if stores of options cannot be used.
func (set *settings) tryStores(ctx context.Context, env *cli.Env) error {
	var g errgroup.Group
	g.Go(func() error { return set.ship.Try(ctx, env) })
	if set.register != "" {
		g.Go(func() error {
			return shipping.TryDir(ctx, env, "--register", set.register, "fleet/hosts/~check") // not the address of a host
		})
	}
	if set.fleet != "" {
		g.Go(func() error { return shipping.TryDir(ctx, env, "--fleet", set.fleet, "") })
	}
	return g.Wait()
}

// register keeps the registration until ctx is done or end is called, which removes it.
func register(ctx context.Context, r *share.Registration, log *slog.Logger) (end func()) {
	r.Event = func(err error) {
		if err != nil {
			log.Error("cannot register with the recorders of the fleet, will be tried again", "err", err)
		} else {
			log.Info("registered with the recorders of the fleet", "address", r.Address)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := r.Run(ctx); err != nil {
			log.Warn("the registration was not removed, it expires", "err", err)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
