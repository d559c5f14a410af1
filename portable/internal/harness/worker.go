package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/levadaflow/levada/internal/exec"
)

// worker does what one control stream asks for.
type worker struct {
	pool    *Pool
	ctx     context.Context // of calls to the runner, with the worker's id
	shared  *exec.Run
	running sync.WaitGroup // of bundles and data streams

	client  fnpb.BeamFnControlClient
	control fnpb.BeamFnControl_ControlClient
	sending sync.Mutex // on control

	mu      sync.Mutex
	conns   map[string]*grpc.ClientConn // by address
	streams map[string]*dataStream      // by address
	plans   map[string]*planned         // by descriptor
}

// planned is a plan that is made when it is needed first.
type planned struct {
	once sync.Once
	plan *plan
	err  error
}

// newWorker returns a worker that ends with ctx. What is said to the runner has no deadline: Prism ends itself when one passes.
func newWorker(ctx context.Context, p *Pool, id string) *worker {
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, cancel)
	return &worker{
		pool: p, ctx: metadata.AppendToOutgoingContext(calls, "worker_id", id), shared: &exec.Run{Ctx: ctx},
		conns: map[string]*grpc.ClientConn{}, streams: map[string]*dataStream{}, plans: map[string]*planned{},
	}
}

// run does what the control stream asks for until it ends, or cancel was called.
func (w *worker) run(address string, cancel context.CancelFunc) error {
	stop := context.AfterFunc(w.ctx, w.shared.Stop)
	defer stop()
	err := w.serve(address)
	if w.ctx.Err() != nil || errors.Is(err, io.EOF) {
		err = nil // that is how a runner ends it
	}
	w.shared.Stop()
	cancel()
	w.running.Wait()
	for _, p := range w.plans {
		if p.plan == nil {
			continue
		}
		for _, in := range p.plan.idle {
			if failed := in.bound.Close(); err == nil {
				err = failed
			}
		}
	}
	for _, c := range w.conns {
		c.Close()
	}
	return err
}

// serve reads the control stream until its end.
func (w *worker) serve(address string) error {
	conn, err := w.conn(address)
	if err != nil {
		return err
	}
	w.client = fnpb.NewBeamFnControlClient(conn)
	if w.control, err = w.client.Control(w.ctx); err != nil {
		return fmt.Errorf("opening the control stream: %w", err)
	}
	for {
		r, err := w.control.Recv()
		if err != nil {
			return fmt.Errorf("the control stream has ended: %w", err)
		}
		if b := r.GetProcessBundle(); b != nil {
			w.running.Go(func() { w.bundle(r.GetInstructionId(), b.GetProcessBundleDescriptorId()) })
			continue
		}
		w.answer(other(r))
	}
}

// other answers an instruction that is not a bundle. Progress and splits of a bundle are answered at once: nothing is known, and
// there is nothing to give away.
func other(r *fnpb.InstructionRequest) *fnpb.InstructionResponse {
	a := &fnpb.InstructionResponse{InstructionId: r.GetInstructionId()}
	switch r.GetRequest().(type) {
	case *fnpb.InstructionRequest_ProcessBundleProgress:
		a.Response = &fnpb.InstructionResponse_ProcessBundleProgress{ProcessBundleProgress: &fnpb.ProcessBundleProgressResponse{}}
	case *fnpb.InstructionRequest_ProcessBundleSplit:
		a.Response = &fnpb.InstructionResponse_ProcessBundleSplit{ProcessBundleSplit: &fnpb.ProcessBundleSplitResponse{}}
	case *fnpb.InstructionRequest_FinalizeBundle:
		a.Response = &fnpb.InstructionResponse_FinalizeBundle{FinalizeBundle: &fnpb.FinalizeBundleResponse{}}
	default:
		a.Error = fmt.Sprintf("an instruction of a kind that this worker does not know: %T", r.GetRequest())
	}
	return a
}

// answer answers an instruction. An error is that of the whole stream, which serve sees.
func (w *worker) answer(a *fnpb.InstructionResponse) {
	w.sending.Lock()
	defer w.sending.Unlock()
	_ = w.control.Send(a)
}

// errGoexit is the failure of a bundle whose user code has left its goroutine.
var errGoexit = errors.New("a function of the stage ended its goroutine (runtime.Goexit)")

// bundle runs a bundle and answers.
func (w *worker) bundle(id, descriptor string) {
	err := errGoexit
	defer func() {
		a := &fnpb.InstructionResponse{InstructionId: id}
		if err == nil {
			a.Response = &fnpb.InstructionResponse_ProcessBundle{ProcessBundle: &fnpb.ProcessBundleResponse{}}
		} else {
			a.Error = err.Error()
			w.pool.fail(err)
		}
		w.answer(a)
	}()
	p, failed := w.plan(descriptor)
	if failed != nil {
		err = failed
		return
	}
	err = w.process(id, p)
	if _, step := err.(*exec.Failure); err != nil && !step && w.ctx.Err() != nil {
		err = exec.ErrStopped // the streams have ended under it
	}
}

// process runs a bundle in an instance of its own.
func (w *worker) process(id string, p *plan) (err error) {
	d, err := w.stream(p.source.address)
	if err != nil {
		return err
	}
	all := false
	defer func() { d.forget(id, all) }()
	in := p.take()
	if in == nil {
		if in, err = newInstance(p, w.shared, w.stream); err != nil {
			return err
		}
	}
	w.pool.mark(in, true)
	again := false
	defer func() {
		w.pool.mark(in, false)
		if again {
			p.put(in)
			return
		}
		if failed := in.bound.Close(); err == nil {
			err = failed
		}
	}()
	in.begin(id)
	for input := d.input(id); !all; {
		if in.bound.Elem.Err != nil {
			return in.bound.Elem.Err
		}
		x, err := input.next(w.ctx)
		if err != nil {
			return err
		}
		if x.GetTransformId() != p.source.transform {
			return fmt.Errorf("data for the transform %s, and the source is %s", x.GetTransformId(), p.source.transform)
		}
		if err := in.take(x.GetData()); err != nil {
			return err
		}
		all = x.GetIsLast()
	}
	if err := in.finish(); err != nil {
		return err
	}
	again = in.bound.Root == nil // a root is started once
	return nil
}

// plan returns the plan of a descriptor.
func (w *worker) plan(descriptor string) (*plan, error) {
	w.mu.Lock()
	p := w.plans[descriptor]
	if p == nil {
		p = &planned{}
		w.plans[descriptor] = p
	}
	w.mu.Unlock()
	p.once.Do(func() {
		r := &fnpb.GetProcessBundleDescriptorRequest{ProcessBundleDescriptorId: descriptor}
		d, err := w.client.GetProcessBundleDescriptor(w.ctx, r)
		if err != nil {
			p.err = fmt.Errorf("getting the bundle descriptor %s: %w", descriptor, err)
			return
		}
		p.plan, p.err = newPlan(d, w.pool.graph, w.pool.stages)
	})
	return p.plan, p.err
}

// stream returns the data stream to an address.
func (w *worker) stream(address string) (*dataStream, error) {
	conn, err := w.conn(address)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if d := w.streams[address]; d != nil {
		return d, nil
	}
	s, err := fnpb.NewBeamFnDataClient(conn).Data(w.ctx)
	if err != nil {
		return nil, fmt.Errorf("opening the data stream to %s: %w", address, err)
	}
	d := newDataStream(s)
	w.streams[address] = d
	w.running.Go(d.receive)
	return d, nil
}

// conn returns the connection to an address.
func (w *worker) conn(address string) (*grpc.ClientConn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.conns[address]; c != nil {
		return c, nil
	}
	c, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)))
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", address, err)
	}
	w.conns[address] = c
	return c, nil
}
