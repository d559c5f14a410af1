package translate

import (
	"encoding/json"
	"errors"
	"fmt"

	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/protobuf/proto"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/internal/exec"
	"github.com/levadaflow/levada/internal/graph"
	"github.com/levadaflow/levada/portable/internal/urn"
)

// ErrNotSupported is wrapped by every refusal.
var ErrNotSupported = errors.New("not supported on this runner yet")

// Local names of a stage's ParDo.
const Input = "in"

// Output returns the local name of the output for the i-th of a stage's edges.
func Output(i int) string { return fmt.Sprintf("e%d", i) }

// Stage says which stage a ParDo is. It is the payload of its DoFn.
type Stage struct {
	Fingerprint string // of the graph
	Head        string // path of the stage's first step
}

// StageOf returns what identifies a stage of g.
func StageOf(g *graph.Graph, st *graph.Stage) Stage {
	return Stage{fmt.Sprintf("%016x", g.Fingerprint()), st.Head.Name}
}

// ParseStage reads the spec of a ParDo.
func ParseStage(spec *pipepb.FunctionSpec) (s Stage, err error) {
	var pardo pipepb.ParDoPayload
	if err := proto.Unmarshal(spec.GetPayload(), &pardo); err != nil {
		return s, fmt.Errorf("reading a ParDo: %w", err)
	}
	if u := pardo.GetDoFn().GetUrn(); u != urn.Stage {
		return s, fmt.Errorf("the DoFn %q is not one of this worker's", u)
	}
	if err := json.Unmarshal(pardo.GetDoFn().GetPayload(), &s); err != nil {
		return s, fmt.Errorf("reading which stage a ParDo is: %w", err)
	}
	return s, nil
}

// Pipeline returns the pipeline of a graph and its stages, whose workers are to be had from the pool at address. They must have
// passed [Check].
func Pipeline(g *graph.Graph, stages []*graph.Stage, address string) (*pipepb.Pipeline, error) {
	b := &builder{
		graph: g, names: map[string]bool{}, edges: map[graph.Edge]string{}, coders: map[string]string{}, strategies: map[string]string{},
		comps: &pipepb.Components{
			Transforms: map[string]*pipepb.PTransform{}, Pcollections: map[string]*pipepb.PCollection{},
			WindowingStrategies: map[string]*pipepb.WindowingStrategy{}, Coders: map[string]*pipepb.Coder{},
			Environments: map[string]*pipepb.Environment{},
		},
	}
	if err := b.environment(address); err != nil {
		return nil, err
	}
	for _, st := range stages {
		b.names[st.Head.Name] = true
	}
	for _, st := range stages {
		if err := b.stage(st); err != nil {
			return nil, err
		}
	}
	return &pipepb.Pipeline{Components: b.comps, RootTransformIds: b.order}, nil
}

// builder is a pipeline that is being made.
type builder struct {
	graph      *graph.Graph
	comps      *pipepb.Components
	order      []string              // of the transforms
	names      map[string]bool       // that are taken
	edges      map[graph.Edge]string // PCollections
	coders     map[string]string     // ids by content
	strategies map[string]string     // ids by content
}

const environmentID = "worker"

func (b *builder) environment(address string) error {
	payload, err := proto.Marshal(&pipepb.ExternalPayload{Endpoint: &pipepb.ApiServiceDescriptor{Url: address}})
	if err != nil {
		return err
	}
	b.comps.Environments[environmentID] = &pipepb.Environment{
		Urn: urn.External, Payload: payload,
		Capabilities: []string{
			urn.ManyBundles, urn.Bytes, urn.KV, urn.Iterable, urn.LengthPrefix, urn.WindowedValue, urn.GlobalWindow, urn.IntervalWindow,
		},
	}
	return nil
}

// stage adds the exchange in front of a stage, and its ParDo.
func (b *builder) stage(st *graph.Stage) error {
	in, err := b.exchange(st.Head)
	if err != nil {
		return err
	}
	outputs := map[string]string{}
	for i, e := range st.Edges() {
		remote := RemoteOf(e.To)
		strategy, err := b.strategy(remote.Windowing)
		if err != nil {
			return err
		}
		id := fmt.Sprintf("p%d-e%d", st.ID, i)
		b.collection(id, b.element(remote, false), strategy)
		b.edges[e], outputs[Output(i)] = id, id
	}
	which, err := json.Marshal(StageOf(b.graph, st))
	if err != nil {
		return err
	}
	payload, err := proto.Marshal(&pipepb.ParDoPayload{DoFn: &pipepb.FunctionSpec{Urn: urn.Stage, Payload: which}})
	if err != nil {
		return err
	}
	b.transform(fmt.Sprintf("t%d-stage", st.ID), &pipepb.PTransform{
		UniqueName: st.Head.Name, Spec: &pipepb.FunctionSpec{Urn: urn.ParDo, Payload: payload}, EnvironmentId: environmentID,
		Inputs: map[string]string{Input: in}, Outputs: outputs,
	})
	return nil
}

// exchange adds the runner's transform in front of a stage and returns its PCollection.
func (b *builder) exchange(head *graph.Step) (pcollection string, err error) {
	id := fmt.Sprintf("p%d", head.Stage.ID)
	t := &pipepb.PTransform{Spec: &pipepb.FunctionSpec{}, Inputs: map[string]string{}, Outputs: map[string]string{"out": id}}
	remote := RemoteOf(head)
	windowing := globally
	kind := "impulse"
	t.Spec.Urn = urn.Impulse
	if remote != nil {
		windowing = remote.Windowing
		kind, t.Spec.Urn = "flatten", urn.Flatten
		if remote.Key != "" {
			kind, t.Spec.Urn = "group", urn.GroupByKey
		}
	}
	for i, in := range head.Inputs {
		t.Inputs[fmt.Sprintf("i%d", i)] = b.edges[graph.Edge{From: in, To: head, Input: i}]
	}
	strategy, err := b.strategy(windowing)
	if err != nil {
		return "", err
	}
	b.collection(id, b.element(remote, true), strategy)
	t.UniqueName = head.Name + "/" + kind
	for b.names[t.UniqueName] { // a step is called like that
		t.UniqueName += "_"
	}
	b.names[t.UniqueName] = true
	b.transform(fmt.Sprintf("t%d-%s", head.Stage.ID, kind), t)
	return id, nil
}

func (b *builder) transform(id string, t *pipepb.PTransform) {
	b.comps.Transforms[id] = t
	b.order = append(b.order, id)
}

func (b *builder) collection(id, coder, strategy string) {
	b.comps.Pcollections[id] = &pipepb.PCollection{
		UniqueName: id, CoderId: coder, WindowingStrategyId: strategy, IsBounded: pipepb.IsBounded_BOUNDED,
	}
}

// element returns the coder of what goes to a stage with that exchange, or comes out of it; nil is an impulse.
func (b *builder) element(r *exec.RemoteOp, grouped bool) string {
	if r == nil {
		return b.coder(urn.Bytes, "")
	}
	value := b.coder(urn.LengthPrefix, "", b.coder(urn.Plan, r.Value))
	if r.Key == "" {
		return value
	}
	if grouped {
		value = b.coder(urn.Iterable, "", value)
	}
	return b.coder(urn.KV, "", b.coder(urn.LengthPrefix, "", b.coder(urn.Plan, r.Key)), value)
}

// Form returns the coder of [builder.element] as a text, without what is behind a length.
func Form(r *exec.RemoteOp, grouped bool) string {
	switch {
	case r == nil:
		return urn.Bytes
	case r.Key == "":
		return urn.LengthPrefix
	case grouped:
		return fmt.Sprintf("%s[%s, %s[%s]]", urn.KV, urn.LengthPrefix, urn.Iterable, urn.LengthPrefix)
	}
	return fmt.Sprintf("%s[%s, %s]", urn.KV, urn.LengthPrefix, urn.LengthPrefix)
}

// coder returns the id of a coder, which is added if it is new.
func (b *builder) coder(name, payload string, components ...string) string {
	content := fmt.Sprintf("%q %q %q", name, payload, components)
	id, ok := b.coders[content]
	if !ok {
		id = fmt.Sprintf("c%d", len(b.coders))
		b.coders[content] = id
		c := &pipepb.Coder{Spec: &pipepb.FunctionSpec{Urn: name}, ComponentCoderIds: components}
		if payload != "" {
			c.Spec.Payload = []byte(payload)
		}
		b.comps.Coders[id] = c
	}
	return id
}

// Check returns what of the stages cannot be run, as a levada.BuildErrors, or nil.
func Check(stages []*graph.Stage) error {
	var refused levada.BuildErrors
	for _, st := range stages {
		for _, s := range st.Steps {
			if what := unsupported(s, s == st.Head); what != "" {
				refused = append(refused, &levada.BuildError{Step: s.Name, Site: s.Site, Err: fmt.Errorf("%s: %w", what, ErrNotSupported)})
			}
		}
	}
	if len(refused) > 0 {
		return refused
	}
	return nil
}

// unsupported says what of a step cannot be run, "" if all can.
func unsupported(s *graph.Step, head bool) string {
	switch op := s.Op.(type) {
	case *exec.RootOp:
		switch {
		case op.List != nil:
			return "a source that is read in splits"
		case op.External:
			return "a source that is a script"
		}
		return ""
	case *exec.ChainOp:
		if op.Commit != nil {
			return "a sink whose results become visible at the run's end"
		}
		return ""
	case *exec.MergeOp:
		if !head {
			return ""
		}
	case *exec.HeadOp:
		if op.Remote != nil && len(s.Outputs) > 1 && len(s.Readers(1)) > 0 {
			return "LateTo: the runner drops what is late by itself"
		}
	}
	remote := RemoteOf(s)
	if remote == nil {
		return "a step of this kind (Reshuffle, state, timers)"
	}
	return refuseWindowing(remote.Windowing, remote.Key != "")
}

// RemoteOf returns what the head of a stage says of the exchange in front of it, nil if it has none or none that is supported.
func RemoteOf(s *graph.Step) *exec.RemoteOp {
	switch op := s.Op.(type) {
	case *exec.HeadOp:
		return op.Remote
	case *exec.MergeOp:
		return op.Remote
	}
	return nil
}
