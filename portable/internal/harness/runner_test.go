package harness_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/portable/internal/harness"
	"github.com/levadaflow/levada/portable/internal/translate"
	"github.com/levadaflow/levada/portable/internal/urn"
)

// runner is a strict runner in a test. It asks for one worker, tells it what the test says, and keeps what the worker sends.
type runner struct {
	fnpb.UnimplementedBeamFnControlServer
	fnpb.UnimplementedBeamFnDataServer
	t        *testing.T
	graph    *graph.Graph
	stages   []*graph.Stage
	pipeline *pipepb.Pipeline
	pool     *harness.Pool
	address  string
	control  chan fnpb.BeamFnControl_ControlServer
	data     chan fnpb.BeamFnData_DataServer
	answers  chan *fnpb.InstructionResponse
	over     chan struct{} // closed to end the control stream

	mu          sync.Mutex
	descriptors map[string]*fnpb.ProcessBundleDescriptor
	sent        map[string][]byte // by bundle and transform
	ended       map[string]int    // terminators, likewise
}

// newRunner starts a pool for a pipeline, and a runner that has asked it for a worker.
func newRunner(t *testing.T, build func(p *levada.Pipeline)) *runner {
	t.Helper()
	p := levada.New()
	build(p)
	g, err := p.Build()
	check(t, err)
	r := &runner{
		t: t, graph: g, stages: g.Fuse(), control: make(chan fnpb.BeamFnControl_ControlServer, 1), data: make(chan fnpb.BeamFnData_DataServer, 1),
		answers: make(chan *fnpb.InstructionResponse, 10), over: make(chan struct{}),
		descriptors: map[string]*fnpb.ProcessBundleDescriptor{}, sent: map[string][]byte{}, ended: map[string]int{},
	}
	r.pool, err = harness.Open(context.Background(), g, r.stages)
	check(t, err)
	check(t, translate.Check(r.stages))
	r.pipeline, err = translate.Pipeline(g, r.stages, r.pool.Address())
	check(t, err)
	l, err := net.Listen("tcp", "localhost:0")
	check(t, err)
	r.address = l.Addr().String()
	server := grpc.NewServer()
	fnpb.RegisterBeamFnControlServer(server, r)
	fnpb.RegisterBeamFnDataServer(server, r)
	go server.Serve(l)
	t.Cleanup(func() {
		r.pool.Close()
		server.Stop()
	})
	return r
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start asks the pool for a worker and returns what it says.
func (r *runner) start(request *fnpb.StartWorkerRequest) string {
	r.t.Helper()
	conn, err := grpc.NewClient(r.pool.Address(), insecurely)
	check(r.t, err)
	defer conn.Close()
	a, err := fnpb.NewBeamFnExternalWorkerPoolClient(conn).StartWorker(r.t.Context(), request)
	check(r.t, err)
	return a.GetError()
}

// worker asks for a worker and waits for its control stream.
func (r *runner) worker() fnpb.BeamFnControl_ControlServer {
	r.t.Helper()
	if wrong := r.start(&fnpb.StartWorkerRequest{WorkerId: "w1", ControlEndpoint: &pipepb.ApiServiceDescriptor{Url: r.address}}); wrong != "" {
		r.t.Fatal(wrong)
	}
	return receive(r.t, r.control)
}

// receive waits for a value, not for ever.
func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(10 * time.Second):
		t.Fatal("nothing came")
		panic("not reached")
	}
}

// identified reports whether a call says which worker it comes from.
func (r *runner) identified(ctx context.Context) {
	md, _ := metadata.FromIncomingContext(ctx)
	if id := md.Get("worker_id"); len(id) != 1 || id[0] != "w1" {
		r.t.Errorf("a call of the worker %q", id)
	}
}

// Control implements the service.
func (r *runner) Control(s fnpb.BeamFnControl_ControlServer) error {
	r.identified(s.Context())
	r.control <- s
	go func() {
		for {
			a, err := s.Recv()
			if err != nil {
				return
			}
			r.answers <- a
		}
	}()
	select {
	case <-r.over:
	case <-s.Context().Done():
	}
	return nil
}

// GetProcessBundleDescriptor implements the service.
func (r *runner) GetProcessBundleDescriptor(ctx context.Context, q *fnpb.GetProcessBundleDescriptorRequest) (*fnpb.ProcessBundleDescriptor, error) {
	r.identified(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := r.descriptors[q.GetProcessBundleDescriptorId()]; d != nil {
		return d, nil
	}
	return nil, fmt.Errorf("no descriptor %s", q.GetProcessBundleDescriptorId())
}

// Data implements the service.
func (r *runner) Data(s fnpb.BeamFnData_DataServer) error {
	r.identified(s.Context())
	r.data <- s
	for {
		m, err := s.Recv()
		if err != nil {
			return nil
		}
		r.mu.Lock()
		for _, x := range m.GetData() {
			at := x.GetInstructionId() + " " + x.GetTransformId()
			if r.ended[at] > 0 || x.GetIsLast() && len(x.GetData()) > 0 {
				r.t.Errorf("data for %s with or after its terminator", at)
			}
			r.sent[at] = append(r.sent[at], x.GetData()...)
			if x.GetIsLast() {
				r.ended[at]++
			}
		}
		r.mu.Unlock()
	}
}

// output waits for the terminator of a bundle's output and returns its data.
func (r *runner) output(bundle, transform string) []byte {
	r.t.Helper()
	for range 1000 {
		r.mu.Lock()
		n, data := r.ended[bundle+" "+transform], r.sent[bundle+" "+transform]
		r.mu.Unlock()
		if n > 0 {
			return data
		}
		time.Sleep(time.Millisecond)
	}
	r.t.Fatalf("bundle %s has not ended its output %s", bundle, transform)
	return nil
}

// describe makes the descriptor of a stage, with its source "source" and sinks "sink0", ..., and changes it.
func (r *runner) describe(id string, stage int, change func(d *fnpb.ProcessBundleDescriptor)) {
	r.t.Helper()
	comps := r.pipeline.GetComponents()
	d := &fnpb.ProcessBundleDescriptor{Id: id, Transforms: map[string]*pipepb.PTransform{}, Coders: map[string]*pipepb.Coder{}}
	for id, c := range comps.GetCoders() {
		d.Coders[id] = proto.Clone(c).(*pipepb.Coder)
	}
	port := func(pcollection string) []byte {
		c := comps.GetPcollections()[pcollection]
		windows := comps.GetWindowingStrategies()[c.GetWindowingStrategyId()].GetWindowCoderId()
		d.Coders["windowed-"+pcollection] = &pipepb.Coder{
			Spec: &pipepb.FunctionSpec{Urn: urn.WindowedValue}, ComponentCoderIds: []string{c.GetCoderId(), windows},
		}
		payload, err := proto.Marshal(&fnpb.RemoteGrpcPort{
			ApiServiceDescriptor: &pipepb.ApiServiceDescriptor{Url: r.address}, CoderId: "windowed-" + pcollection,
		})
		check(r.t, err)
		return payload
	}
	at := fmt.Sprintf("t%d-stage", stage)
	pardo := proto.Clone(comps.GetTransforms()[at]).(*pipepb.PTransform)
	d.Transforms[at] = pardo
	in := pardo.GetInputs()[translate.Input]
	d.Transforms["source"] = &pipepb.PTransform{
		Spec: &pipepb.FunctionSpec{Urn: urn.Source, Payload: port(in)}, Outputs: map[string]string{"out": in},
	}
	for i := range pardo.GetOutputs() {
		out := pardo.GetOutputs()[i]
		d.Transforms["sink-"+i] = &pipepb.PTransform{
			Spec: &pipepb.FunctionSpec{Urn: urn.Sink, Payload: port(out)}, Inputs: map[string]string{"in": out},
		}
	}
	if change != nil {
		change(d)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.descriptors[id] = d
}

// bundle is the instruction to run one.
func bundle(id, descriptor string) *fnpb.InstructionRequest {
	return &fnpb.InstructionRequest{InstructionId: id, Request: &fnpb.InstructionRequest_ProcessBundle{
		ProcessBundle: &fnpb.ProcessBundleRequest{ProcessBundleDescriptorId: descriptor},
	}}
}

// input is data for a bundle.
func input(id string, data []byte, last bool) *fnpb.Elements {
	return &fnpb.Elements{Data: []*fnpb.Elements_Data{{InstructionId: id, TransformId: "source", Data: data, IsLast: last}}}
}

var insecurely = grpc.WithTransportCredentials(insecure.NewCredentials())
