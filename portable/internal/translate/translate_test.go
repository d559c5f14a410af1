package translate_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/levadaflow/levada"
	"github.com/levadaflow/levada/portable/internal/translate"
	"github.com/levadaflow/levada/window"
)

// example has a stage with two outputs, all three exchanges, and a step that is called like one.
func example() *levada.Pipeline {
	p := levada.New()
	words := levada.Create(p, "words", "a")
	in := levada.WindowInto(words, "window", levada.Windowing{
		Windows: window.Sliding(time.Minute, time.Second).Offset(time.Millisecond), AllowedLateness: levada.AnyLateness,
		Accumulation: levada.Accumulating,
	})
	counts := levada.CountPerKey(levada.KeyBy(in, "key", func(s string) string { return s }), "count")
	levada.Scope(p, "words", func() int { levada.Create(p, "impulse", 1); return 0 })
	more := levada.WindowInto(levada.Create(p, "more", "b"), "window-2", levada.Windowing{Windows: window.Fixed(time.Hour)})
	names := levada.WindowInto(levada.Map(counts, "name", func(kv levada.KV[string, int64]) string { return kv.Key }), "window-3",
		levada.Windowing{Windows: window.Fixed(time.Hour)})
	levada.Flatten("both", names, more)
	return p
}

func pipeline(t *testing.T, p *levada.Pipeline) *pipepb.Pipeline {
	t.Helper()
	g, err := p.Build()
	if err != nil {
		t.Fatal(err)
	}
	stages := g.Fuse()
	if err := translate.Check(stages); err != nil {
		t.Fatal(err)
	}
	out, err := translate.Pipeline(g, stages, "here:1")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// describe returns the transforms in their order, with what is between them.
func describe(p *pipepb.Pipeline) []string {
	c := p.GetComponents()
	collections := func(at map[string]string) string {
		var all []string
		for _, local := range slices.Sorted(maps.Keys(at)) {
			x := c.GetPcollections()[at[local]]
			w := c.GetWindowingStrategies()[x.GetWindowingStrategyId()]
			fn := strings.Split(w.GetWindowFn().GetUrn(), ":")[2]
			all = append(all, fmt.Sprintf("%s %s %s %s", local, at[local], coder(c, x.GetCoderId()), fn))
		}
		return strings.Join(all, "; ")
	}
	var all []string
	for _, id := range p.GetRootTransformIds() {
		t := c.GetTransforms()[id]
		env := t.GetEnvironmentId()
		all = append(all, fmt.Sprintf("%s %q %s %s (%s) -> (%s)", id, t.GetUniqueName(), strings.Split(t.GetSpec().GetUrn(), ":")[2], env,
			collections(t.GetInputs()), collections(t.GetOutputs())))
	}
	return all
}

func coder(c *pipepb.Components, id string) string {
	x := c.GetCoders()[id]
	if len(x.GetSpec().GetPayload()) > 0 {
		return string(x.GetSpec().GetPayload())
	}
	name := strings.Split(x.GetSpec().GetUrn(), ":")[2]
	if parts := x.GetComponentCoderIds(); len(parts) > 0 {
		all := make([]string, len(parts))
		for i, p := range parts {
			all[i] = coder(c, p)
		}
		return name + "[" + strings.Join(all, " ") + "]"
	}
	return name
}

// TestPipeline shows what becomes of a graph, and that it becomes the same again.
func TestPipeline(t *testing.T) {
	p := pipeline(t, example())
	const kv = "kv[length_prefix[string] length_prefix[string]]"
	const grouped = "kv[length_prefix[string] iterable[length_prefix[string]]]"
	if diff := cmp.Diff([]string{
		`t0-impulse "words/impulse_" impulse  () -> (out p0 bytes global_windows)`,
		`t0-stage "words" pardo worker (in p0 bytes global_windows) -> (e0 p0-e0 ` + kv + ` sliding_windows)`,
		`t1-group "count/group" group_by_key  (i0 p0-e0 ` + kv + ` sliding_windows) -> (out p1 ` + grouped + ` sliding_windows)`,
		`t1-stage "count" pardo worker (in p1 ` + grouped + ` sliding_windows) -> (e0 p1-e0 length_prefix[string] fixed_windows)`,
		`t2-impulse "words/impulse/impulse" impulse  () -> (out p2 bytes global_windows)`,
		`t2-stage "words/impulse" pardo worker (in p2 bytes global_windows) -> ()`,
		`t3-impulse "more/impulse" impulse  () -> (out p3 bytes global_windows)`,
		`t3-stage "more" pardo worker (in p3 bytes global_windows) -> (e0 p3-e0 length_prefix[string] fixed_windows)`,
		`t4-flatten "both/flatten" flatten  (i0 p1-e0 length_prefix[string] fixed_windows; i1 p3-e0 length_prefix[string] fixed_windows) -> ` +
			`(out p4 length_prefix[string] fixed_windows)`,
		`t4-stage "both" pardo worker (in p4 length_prefix[string] fixed_windows) -> ()`,
	}, describe(p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if again := pipeline(t, example()); !proto.Equal(p, again) {
		t.Error("it becomes another one")
	}
}

// TestStrategy shows what is said of a grouping's windows.
func TestStrategy(t *testing.T) {
	c := pipeline(t, example()).GetComponents()
	s := c.GetWindowingStrategies()[c.GetPcollections()["p0-e0"].GetWindowingStrategyId()]
	var fn pipepb.SlidingWindowsPayload
	if err := proto.Unmarshal(s.GetWindowFn().GetPayload(), &fn); err != nil {
		t.Fatal(err)
	}
	if fn.GetSize().AsDuration() != time.Minute || fn.GetPeriod().AsDuration() != time.Second || fn.GetOffset().AsTime().UnixMilli() != 1 {
		t.Errorf("the windows are %v", &fn)
	}
	if late := time.Duration(s.GetAllowedLateness()) * time.Millisecond; late < 290*365*24*time.Hour {
		t.Errorf("the allowed lateness is %d ms, %v", s.GetAllowedLateness(), late)
	}
	if s.GetAssignsToOneWindow() || s.GetAccumulationMode() != pipepb.AccumulationMode_ACCUMULATING || s.GetTrigger().GetDefault() == nil ||
		s.GetOutputTime() != pipepb.OutputTime_END_OF_WINDOW || s.GetOnTimeBehavior() != pipepb.OnTimeBehavior_FIRE_ALWAYS ||
		s.GetClosingBehavior() != pipepb.ClosingBehavior_EMIT_IF_NONEMPTY || s.GetMergeStatus() != pipepb.MergeStatus_NON_MERGING {
		t.Errorf("the strategy is %v", s)
	}
	for id, s := range c.GetWindowingStrategies() {
		if s.GetWindowFn().GetUrn() == "" || c.GetCoders()[s.GetWindowCoderId()] == nil || c.GetEnvironments()[s.GetEnvironmentId()] == nil {
			t.Errorf("strategy %s is %v", id, s)
		}
	}
}
