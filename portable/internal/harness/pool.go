package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"google.golang.org/grpc"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"
)

// Pool is a service from which a runner gets workers for one graph, in this process (Beam calls it loopback).
type Pool struct {
	fnpb.UnimplementedBeamFnExternalWorkerPoolServer
	graph    *graph.Graph
	stages   []*graph.Stage
	listener net.Listener
	server   *grpc.Server
	ctx      context.Context // of all workers
	cancel   context.CancelFunc
	running  sync.WaitGroup

	once  sync.Once
	asked chan struct{} // closed when a worker has been started

	mu      sync.Mutex
	closed  bool
	workers map[string]context.CancelFunc
	busy    map[*instance]bool // those that run a bundle
	failed  error              // the first failure of a bundle or worker
}

// Open starts the service on a free port of this machine. The workers end with ctx, or when the pool is closed. The stages are
// those of g.
func Open(ctx context.Context, g *graph.Graph, stages []*graph.Stage) (*Pool, error) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return nil, fmt.Errorf("opening the worker pool: %w", err)
	}
	p := &Pool{
		graph: g, stages: stages, listener: l, server: grpc.NewServer(), asked: make(chan struct{}),
		workers: map[string]context.CancelFunc{}, busy: map[*instance]bool{},
	}
	p.ctx, p.cancel = context.WithCancel(ctx)
	fnpb.RegisterBeamFnExternalWorkerPoolServer(p.server, p)
	p.running.Go(func() {
		if err := p.server.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			p.fail(fmt.Errorf("the worker pool: %w", err))
		}
	})
	return p, nil
}

// Address returns where the pool is to be reached.
func (p *Pool) Address() string { return p.listener.Addr().String() }

// StartWorker implements the service.
func (p *Pool) StartWorker(_ context.Context, r *fnpb.StartWorkerRequest) (*fnpb.StartWorkerResponse, error) {
	id, control := r.GetWorkerId(), r.GetControlEndpoint()
	p.mu.Lock()
	defer p.mu.Unlock()
	var wrong string
	switch {
	case control.GetUrl() == "":
		wrong = "no control endpoint"
	case control.GetAuthentication() != nil:
		wrong = "secure endpoints are not supported"
	case p.closed:
		wrong = "the pool is closed"
	case p.workers[id] != nil:
		wrong = "there is a worker of this name"
	}
	if wrong != "" {
		return &fnpb.StartWorkerResponse{Error: fmt.Sprintf("worker %s: %s", id, wrong)}, nil
	}
	ctx, cancel := context.WithCancel(p.ctx)
	p.once.Do(func() { close(p.asked) })
	p.workers[id] = cancel
	w := newWorker(ctx, p, id)
	p.running.Go(func() {
		defer cancel()
		if err := w.run(control.GetUrl(), cancel); err != nil {
			p.fail(fmt.Errorf("worker %s: %w", id, err))
		}
	})
	return &fnpb.StartWorkerResponse{}, nil
}

// StopWorker implements the service.
func (p *Pool) StopWorker(_ context.Context, r *fnpb.StopWorkerRequest) (*fnpb.StopWorkerResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	cancel := p.workers[r.GetWorkerId()]
	if cancel == nil {
		return &fnpb.StopWorkerResponse{Error: fmt.Sprintf("there is no worker %s", r.GetWorkerId())}, nil
	}
	cancel()
	delete(p.workers, r.GetWorkerId())
	return &fnpb.StopWorkerResponse{}, nil
}

// AwaitWorker waits until a worker has been started, at most for a second. It is for jobs that have ended early: the runner may
// still ask for a worker, and Prism ends itself if nobody answers.
func (p *Pool) AwaitWorker() { within(p.asked, askTime) }

// Close stops the workers and the service, waits until all of it has ended, and returns the first failure of a bundle or worker:
// an *exec.Failure if it was one of a step. If user code does not return within 5 s the error wraps levada.ErrHanging and names the
// step, and what waits for it is left behind.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	stopped := make(chan struct{})
	p.running.Go(func() {
		p.server.GracefulStop() // a call that is not answered would end Prism
		close(stopped)
	})
	if !within(stopped, stopTime) {
		p.server.Stop()
	}
	ended := make(chan struct{})
	go func() {
		p.running.Wait()
		close(ended)
	}()
	if !within(ended, hangTime) {
		return errors.Join(fmt.Errorf("%w: %s", levada.ErrHanging, p.hanging()), p.failure())
	}
	return p.failure()
}

func (p *Pool) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// hanging returns the steps that are running.
func (p *Pool) hanging() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var steps []string
	for in := range p.busy {
		if at := in.bound.Elem.At(); at >= 0 {
			steps = append(steps, "step "+p.graph.Steps[at].Name)
		}
	}
	slices.Sort(steps)
	return strings.Join(slices.Compact(steps), ", ")
}

// mark notes that an instance begins or has ended a bundle.
func (p *Pool) mark(in *instance, busy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if busy {
		p.busy[in] = true
	} else {
		delete(p.busy, in)
	}
}

// fail notes a failure, unless there was one, or it is nothing but the end.
func (p *Pool) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil && !errors.Is(err, exec.ErrStopped) {
		p.failed = err
	}
}
