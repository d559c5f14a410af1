package harness

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/protobuf/proto"

	"github.com/levadaflow/levada/coder"
	"github.com/levadaflow/levada/event"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/portable/internal/translate"
	"github.com/levadaflow/levada/portable/internal/urn"
)

// plan is what a bundle descriptor says: a stage, where its elements come from, and where they go to.
type plan struct {
	stage  *graph.Stage
	source port
	sinks  []port // in the order of the stage's edges

	mu   sync.Mutex
	idle []*instance
}

// port is an end of the stage at the runner.
type port struct {
	transform string // its id
	address   string
	windows   coder.Coder[event.Window]
	keyed     bool // elements have a key
}

// newPlan reads a descriptor. The stages are those of g.
func newPlan(d *fnpb.ProcessBundleDescriptor, g *graph.Graph, stages []*graph.Stage) (*plan, error) {
	var pardo *pipepb.PTransform
	ends := map[string]end{} // by PCollection
	for id, t := range d.GetTransforms() {
		var at map[string]string
		switch u := t.GetSpec().GetUrn(); {
		case u == urn.ParDo && pardo == nil:
			pardo = t
			continue
		case u == urn.Source:
			at = t.GetOutputs()
		case u == urn.Sink:
			at = t.GetInputs()
		default:
			return nil, fmt.Errorf("bundle descriptor %s: transform %s (%s) is not one that this worker can run here", d.GetId(), id, u)
		}
		for _, pcollection := range at {
			if _, ok := ends[pcollection]; ok || len(at) != 1 {
				return nil, fmt.Errorf("bundle descriptor %s: transform %s is at more than one end of a PCollection", d.GetId(), id)
			}
			ends[pcollection] = end{id, t.GetSpec().GetPayload()}
		}
	}
	p := &plan{}
	var err error
	if p.stage, err = stageOf(pardo, g, stages); err != nil {
		return nil, fmt.Errorf("bundle descriptor %s: %w", d.GetId(), err)
	}
	if p.source, err = newPort(d, ends[pardo.GetInputs()[translate.Input]], translate.RemoteOf(p.stage.Head), true); err != nil {
		return nil, fmt.Errorf("bundle descriptor %s: the source: %w", d.GetId(), err)
	}
	for i, e := range p.stage.Edges() {
		out, err := newPort(d, ends[pardo.GetOutputs()[translate.Output(i)]], translate.RemoteOf(e.To), false)
		if err != nil {
			return nil, fmt.Errorf("bundle descriptor %s: output %d: %w", d.GetId(), i, err)
		}
		p.sinks = append(p.sinks, out)
	}
	return p, nil
}

// end is a transform that is a source or sink.
type end struct {
	transform string
	payload   []byte
}

// stageOf returns the stage that a ParDo stands for.
func stageOf(pardo *pipepb.PTransform, g *graph.Graph, stages []*graph.Stage) (*graph.Stage, error) {
	which, err := translate.ParseStage(pardo.GetSpec())
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(stages, func(st *graph.Stage) bool { return translate.StageOf(g, st) == which })
	if i < 0 {
		return nil, fmt.Errorf("stage %s of the pipeline %s: this worker's pipeline is another one, %016x", which.Head, which.Fingerprint, g.Fingerprint())
	}
	return stages[i], nil
}

// newPort reads a source or sink. r is of the exchange to which it leads; nil is an impulse.
func newPort(d *fnpb.ProcessBundleDescriptor, e end, r *exec.RemoteOp, source bool) (p port, err error) {
	var remote fnpb.RemoteGrpcPort
	if err := proto.Unmarshal(e.payload, &remote); err != nil {
		return p, err
	}
	p.transform, p.address = e.transform, remote.GetApiServiceDescriptor().GetUrl()
	if p.address == "" {
		return p, fmt.Errorf("it has no address")
	}
	whole := d.GetCoders()[remote.GetCoderId()]
	if parts := whole.GetComponentCoderIds(); whole.GetSpec().GetUrn() != urn.WindowedValue || len(parts) != 2 {
		return p, fmt.Errorf("coder %s is not of windowed values", form(d, remote.GetCoderId(), maxForm))
	}
	switch u := form(d, whole.GetComponentCoderIds()[1], maxForm); u {
	case urn.GlobalWindow:
		p.windows = coder.GlobalWindow()
	case urn.IntervalWindow:
		p.windows = coder.IntervalWindow()
	default:
		return p, fmt.Errorf("windows with the coder %s", u)
	}
	p.keyed = r != nil && r.Key != ""
	if have, want := form(d, whole.GetComponentCoderIds()[0], maxForm), translate.Form(r, source); have != want {
		return p, fmt.Errorf("elements with the coder %s, and %s was asked for", have, want)
	}
	return p, nil
}

// maxForm is how deep the coders are that were asked for.
const maxForm = 3

// form returns a coder with its components, to a depth; what is behind a length is left out.
func form(d *fnpb.ProcessBundleDescriptor, id string, depth int) string {
	c := d.GetCoders()[id]
	name := c.GetSpec().GetUrn()
	if name == urn.LengthPrefix || len(c.GetComponentCoderIds()) == 0 || depth == 0 {
		return name
	}
	parts := make([]string, len(c.GetComponentCoderIds()))
	for i, part := range c.GetComponentCoderIds() {
		parts[i] = form(d, part, depth-1)
	}
	return name + "[" + strings.Join(parts, ", ") + "]"
}

// take returns an instance that no bundle is using, nil if there is none.
func (p *plan) take() *instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	last := len(p.idle) - 1
	in := p.idle[last]
	p.idle = p.idle[:last]
	return in
}

// put gives an instance back.
func (p *plan) put(in *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, in)
}
