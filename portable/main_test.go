package portable_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/portable"
)

// endpoint is that of a Prism in this process.
var endpoint string

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil))) // Prism talks
	l, err := net.Listen("tcp", "localhost:0")                      // Prism does not say which port it has chosen
	if err == nil {
		endpoint = l.Addr().String()
		l.Close()
		_, err = prism.CreateJobServer(context.Background(), prism.Options{Port: l.Addr().(*net.TCPAddr).Port})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// results are what a pipeline has given, collected in this process.
type results struct {
	mu  sync.Mutex
	all []string
}

func (r *results) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, fmt.Sprintf(format, args...))
}

// take returns what there is, in order, and forgets it.
func (r *results) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	slices.Sort(all)
	return all
}

// collect adds every element with its time and window, under a name. Panes are left out: Prism says of none when it was fired.
func collect[T any](in levada.PCollection[T], name string, to *results) {
	levada.Do(in, name, func(c *levada.Ctx, v T) error {
		to.add("%s: %v at %v in %v", name, v, c.Time(), c.Window())
		return nil
	})
}

// onPrism runs a pipeline, which must end within a while.
func onPrism(ctx context.Context, p *levada.Pipeline) (*levada.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return p.Run(ctx, portable.Runner{Endpoint: endpoint})
}
